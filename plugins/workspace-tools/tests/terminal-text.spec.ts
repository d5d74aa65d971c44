import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ToolOutput } from '@headrace/agent'
import { until } from '@headrace/testing/gate'
import { TerminalText } from '../src/terminal-text.ts'
import { bench, contentOf, put } from './kit.ts'

function shown(...pieces: readonly string[]): string {
  let text = ''
  const terminal = new TerminalText((piece) => { text += piece })
  for (const piece of pieces) terminal.push(piece)
  terminal.end()
  return text
}

describe('output for a terminal', () => {
  it.each([
    ['colours', '\u001b[1;31mred\u001b[0m and \u001b[38;5;12mblue\u001b[m', 'red and blue'],
    ['a progress bar', '10%\r50%\r100%\ndone', '100%\ndone'],
    ['a shorter line over a longer one that was erased', 'downloading\r\u001b[Kdone\n', 'done\n'],
    ['the end of a longer one that was not', 'abcdef\rxy\n', 'xycdef\n'],
    ['\\r\\n', 'a\r\nb\r\n', 'a\nb\n'],
    ['backspaces', 'N\bNA\bAME\n', 'NAME\n'],
    ['lines drawn again', 'a: 1\nb: 1\n\u001b[2A\u001b[2Ka: 2\n\u001b[2Kb: 2\n', 'a: 2\nb: 2\n'],
    ['links and titles', '\u001b]0;title\u0007\u001b]8;;https://example.org\u001b\\link\u001b]8;;\u001b\\', 'link'],
    ['8-bit sequences', '\u009b31mred\u009b0m', 'red'],
    ['what is below erased', 'a\nb\nc\u001b[2A\r\u001b[Jx', 'x'],
    ['other control characters', 'a\u0007b\u000ec\u001b(Bd\u001b7e', 'abcde'],
    ['an escape at the end', 'a\u001b', 'a'],
    ['tabs and plain text', '\ta\u00a0ä😀\n\n', '\ta\u00a0ä😀\n\n'],
  ])('is text without escapes, and as it was drawn last: %s', (_, text, expected) => {
    expect(shown(text)).toBe(expected)
    expect(shown(...text)).toBe(expected)
  })

  it('without control characters is as it is, however it is cut into pieces', () => {
    fc.assert(fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', 'ä', '\n', '\t', ' ') })), (pieces) => {
      expect(shown(...pieces)).toBe(pieces.join(''))
    }))
    const long = Array.from({ length: 500 }, (_, index) => `line ${index}\n`).join('')
    expect(shown(long, 'x'.repeat(100_000), '\n', long)).toBe(`${long}${'x'.repeat(100_000)}\n${long}`)
  })

  it('of any bytes ends, and has no escape left', () => {
    fc.assert(fc.property(fc.array(fc.string({ unit: fc.constantFrom('\u001b', '[', ']', '1', ';', 'A', 'K', 'm', '\r', '\n', '\b', 'x', '\u009b', '\\') })), (pieces) => {
      // oxlint-disable-next-line no-control-regex
      expect(shown(...pieces)).not.toMatch(/[\u001b\u009b\r\b]/)
    }))
  })
})

describe('an unfinished line that is told', () => {
  const told = (...pieces: readonly string[]): string => {
    let shown = ''
    const text = new TerminalText((piece) => { shown += piece }, 1)
    for (const piece of pieces) {
      text.push(piece)
      text.tell()
    }
    text.end()
    return shown
  }

  it('goes on where it stands; what is drawn over it is on a line of its own', () => {
    expect(told('Continue?', ' [y/N]', '\nnext\n')).toBe('Continue? [y/N]\nnext\n')
    expect(told('10%', '\r20%', '\r30%\n', 'over')).toBe('10%\n20%\n30%\nover')
    expect(told('a', '\r\n', 'b')).toBe('a\nb')
    expect(told('a', '\r', 'b\nc')).toBe('a\nb\nc')
  })
})

describe('a command', () => {
  it('shows an unfinished line while it goes on, and the model gets it once', async () => {
    const { tool, run, cwd } = bench()
    let shown = ''
    const output = (text: string): void => { shown += text }
    const ending = tool('bash').execute({ command: 'printf "Continue? "; until [ -e go ]; do sleep 0.02; done; echo yes' }, { ...run, output })
    await until(() => shown === 'Continue? ')
    put(cwd, { go: '' })
    expect(contentOf(await ending as ToolOutput)).toBe('Continue? yes\n[exit code 0]')
    expect(shown).toBe('Continue? yes\n')
  })

  it('has its colours dropped and its redraws folded', async () => {
    expect(await bench().text('bash', { command: 'printf "\\033[31mred\\033[0m\\n1%%\\r2%%\\r3%%\\n"' })).toBe('red\n3%\n[exit code 0]')
  })

  it('may begin with -', async () => {
    const { text } = bench()
    expect(await text('bash', { command: '-c "echo options"' })).toMatch(/-c.*not found[^]*exit code 127/)
    expect(await text('bash', { command: '--version' })).toMatch(/not found[^]*exit code 127/)
  })

  it('finds nobody at the terminal: editors, pagers and prompts do not wait', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'a.txt': 'a' })
    const git = 'git -c user.name=a -c user.email=a@b'
    await text('bash', { command: 'git init -q . && git add a.txt' })
    expect(await text('bash', { command: `${git} commit` })).toMatch(/empty commit message[^]*exit code 1/)
    expect(await text('bash', { command: `${git} commit -qm one && ${git} commit --amend && ${git} log` })).toMatch(/one[^]*exit code 0/)
    expect(await text('bash', { command: 'echo "$GIT_EDITOR $PAGER $GIT_TERMINAL_PROMPT"' })).toBe('true cat 0\n[exit code 0]')
    const kept = bench({ env: { keep: [], set: { PAGER: 'mine' } } })
    expect(await kept.text('bash', { command: 'echo "$PAGER"' })).toBe('mine\n[exit code 0]')
  })
})
