import { spawn, spawnSync } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { steps } from '@headrace/model-server'
import { harness } from '@headrace/testing'
import { checkActive } from '../src/cli/base/app.ts'
import { permission } from '../src/cli/show/permission.ts'
import { Terminal } from '../src/cli/show/terminal.ts'
import { brief, visible } from '../src/cli/base/text.ts'
import { BIN, Lab, at } from './command.ts'

// Each starts several processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 })

const HOSTILE = 'a\x1b]0;owned\x07b\x1b[2Jc\rd\u009b31me\u202ef'
const HARMLESS = 'a\\x1b]0;owned\\x07b\\x1b[2Jc\\x0dd\\x9b31me\\u202ef'

describe('what could drive a terminal', () => {
  it('is written out, line feeds and tabs are not', () => {
    expect(visible(HOSTILE)).toBe(HARMLESS)
    expect(visible('a\tb\nc\r\nd')).toBe('a\tb\nc\nd')
    expect(brief('  a\n\n b \x1b[31m', 80)).toBe('a b \\x1b[31m')
    expect(brief('x'.repeat(100), 10)).toBe('xxxxxxxxx…')
  })

  it('is written out on a terminal, and left as it is for a program', () => {
    const shown = (isTTY: boolean): string => {
      const [out, err] = [Object.assign(new PassThrough(), { isTTY }), Object.assign(new PassThrough(), { isTTY })]
      new Terminal(out, err, {}).text(HOSTILE)
      return String(out.read())
    }
    expect(shown(true)).toBe(HARMLESS)
    expect(shown(false)).toBe(HOSTILE)
  })
})

describe('asking on the terminal', () => {
  async function asked(answers: readonly string[], calls: readonly string[], what = 'one\n\x1b[2Jtwo'): Promise<{ shown: string; ran: readonly string[]; results: readonly string[] }> {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const ran: string[] = []
    const left = [...answers]
    let shown = ''
    output.on('data', (text: Buffer) => {
      shown += String(text)
      if (!String(text).includes('in this run: ')) return
      const answer = left.shift()
      if (answer === undefined) input.end()
      else input.write(`${answer}\n`)
    })
    const { agent, ctx, run, dispose } = await harness({
      script: [{ calls: calls.map((name) => ({ name, arguments: { what, why: 'so' } })) }, 'ok'],
      plugins: [[permission, { yes: false, terminal: { input, output }, interrupt: () => undefined }]],
    })
    for (const name of new Set(calls)) {
      ctx.tools.define({
        name, description: name, sequential: true, ask: (input) => `Really \x1b[31m${name} ${(input as { what: string }).what.split('\n')[0]}?`,
        parameters: { type: 'object', properties: { what: { type: 'string' }, why: { type: 'string' } } }, execute: () => (ran.push(name), 'done'),
      })
    }
    await run('go')
    const results: string[] = []
    for (const event of agent.session.events()) if (event.type === 'tool/result') results[event.data.index] = event.data.outcome
    await dispose()
    return { shown, ran, results }
  }

  it('y allows one call, n and an empty line deny, anything else is asked again', async () => {
    expect(await asked(['maybe', 'Y', 'no', ''], ['cut', 'cut', 'cut'])).toMatchObject({ ran: ['cut'], results: ['done', 'denied', 'denied'] })
  })

  it('a allows that tool for the rest of the run, and no other', async () => {
    expect(await asked(['a', 'n'], ['cut', 'cut', 'burn', 'cut'])).toMatchObject({ ran: ['cut', 'cut', 'cut'], results: ['done', 'done', 'denied', 'done'] })
  })

  it('a terminal that is closed denies', async () => {
    expect(await asked([], ['cut'])).toMatchObject({ ran: [], results: ['denied'] })
  })

  it('what would run is shown first, nothing of it drives the terminal', async () => {
    const { shown } = await asked(['n'], ['cut'])
    expect(shown).toContain('  what:\n    one\n    \\x1b[2Jtwo\n  why: so\nReally \\x1b[31mcut one?\n')
  })

  it('what the question says in full is not said a second time above it; what it says in part is', async () => {
    expect((await asked(['n'], ['cut'], 'a rope \x1b[2J')).shown).toMatch(/^ {2}why: so\nReally \\x1b\[31mcut a rope \\x1b\[2J\?\n/)
    expect((await asked(['n'], ['cut'], 'a rope\nand all else')).shown).toContain('  what:\n    a rope\n    and all else\n')
  })
})

it('a plugin that waits for a service nobody provides is named, with that service', async () => {
  const { ctx, dispose } = await harness()
  expect(() => checkActive(ctx)).not.toThrow()
  await ctx.plugin({ name: 'waiter', inject: ['nothing'], apply: async () => undefined })
  expect(() => checkActive(ctx)).toThrow('the plugin waiter does not run: it waits for nothing, which nobody provides')
  await dispose()
})

// `script` of util-linux gives the command a terminal; elsewhere the tests above stand for it.
if (spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux')) {
  describe('on a real terminal', () => {
    let lab: Lab
    beforeEach(() => { lab = new Lab() })
    afterEach(() => lab.close())

    /** Types each answer when its pattern shows. */
    async function typed(
      args: readonly string[],
      answers: readonly (readonly [RegExp, string])[],
    ): Promise<{ code: number; shown: string }> {
      const command = [process.execPath, BIN, ...args].map((arg) => `'${arg}'`).join(' ')
      const child = spawn('script', ['-qec', command, '/dev/null'], {
        cwd: lab.cwd,
        env: { ...lab.env, TERM: 'xterm', SHELL: '/bin/sh' },
      })
      const left = [...answers]
      let shown = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        shown += text
        if (left[0]?.[0].test(shown)) child.stdin.write(left.shift()![1])
      })
      const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? -1)))
      return { code, shown }
    }

    it('a person is asked before a file is written, and nothing hostile gets through', async () => {
      const server = await lab.serve(steps([{ toolCalls: [{ name: 'write', arguments: { path: 'new.txt', content: HOSTILE } }] }, { text: HOSTILE, chunkSize: 1_000 }]))
      const { code, shown } = await typed(['run', 'Hi', ...at(server)], [[/in this run: /, 'y\r']])
      expect(code).toBe(0)
      expect(shown).toMatch(/Write new\.txt\?/)
      expect(lab.read('new.txt')).toBe(HOSTILE)
      expect(shown).toContain(HARMLESS)
      // oxlint-disable-next-line no-control-regex
      expect(shown).not.toMatch(/\x1b\]|\x1b\[2J|\x07|\u009b|\u202e/)
    })

    it('Ctrl-C at the question cancels the turn', async () => {
      const server = await lab.serve(steps([{ toolCalls: [{ name: 'bash', arguments: { command: 'true' } }] }, 'never']))
      const { code, shown } = await typed(['run', 'Hi', ...at(server)], [[/in this run: /, '\x03']])
      expect(code).toBe(130)
      expect(shown).toContain('cancelled with Ctrl-C')
      expect((await lab.events()).at(-1)).toMatchObject({ type: 'turn/end', data: { reason: 'cancelled' } })
    })
  })
}
