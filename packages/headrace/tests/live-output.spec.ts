import { PassThrough } from 'node:stream'
import type { ProgressPiece, SessionEvent } from '@headrace/session'
import { describe, expect, it } from 'vitest'
import { LiveOutput } from '../src/cli/show/live-output.ts'
import { Terminal } from '../src/cli/show/terminal.ts'

const piece = (text: string, at: number, more: Partial<ProgressPiece> = {}): ProgressPiece =>
  ({ type: 'progress', dispatch: 3, block: 0, assistant: 5, index: 0, from: 0, at, text, ...more })

function shown(pieces: readonly ProgressPiece[], isTTY = true): string {
  const err = Object.assign(new PassThrough(), { isTTY })
  const live = new LiveOutput(new Terminal(new PassThrough(), err, { NO_COLOR: '1' }))
  for (const one of pieces) live.piece(one)
  live.event({ type: 'tool/result', data: { assistant: 5, index: 0 } } as SessionEvent<'tool/result'>)
  return String(err.read() ?? '')
}

describe('what a tool shows while it runs', () => {
  it('is shown line by line on a terminal, one that comes twice once', () => {
    expect(shown([piece('one\ntw', 0), piece('one\ntw', 0), piece('o\n', 6)])).toBe('  one\n  two\n')
  })

  it('is shown before its line ends, and goes on where it stands; anew where something else was written since', () => {
    const err = Object.assign(new PassThrough(), { isTTY: true })
    const terminal = new Terminal(new PassThrough(), err, { NO_COLOR: '1' })
    const live = new LiveOutput(terminal)
    const now = (): string => String(err.read() ?? '')
    live.piece(piece('Continue?', 0))
    expect(now()).toBe('  Continue?')
    live.piece(piece(' [y', 9))
    expect(now()).toBe(' [y')
    live.piece(piece('/N]\nNext', 12))
    expect(now()).toBe('/N]\n  Next')
    terminal.note('→ [2] read')
    expect(now()).toBe('\n→ [2] read\n')
    live.piece(piece(' one', 20))
    expect(now()).toBe('  Next one')
    live.piece(piece('x'.repeat(500), 24))
    expect(now()).toMatch(/^x{191}…$/)
    live.piece(piece('y'.repeat(500), 524))
    expect(now()).toBe('')
  })

  it('has the label of its call, where several run', () => {
    const err = Object.assign(new PassThrough(), { isTTY: true })
    const live = new LiveOutput(new Terminal(new PassThrough(), err, { NO_COLOR: '1' }))
    for (const index of [0, 1]) live.piece(piece('half\n', 0, { index }), `[${index + 1}] `)
    expect(String(err.read())).toBe('  [1] half\n  [2] half\n')
  })

  it('is shown to nobody where stderr is read by a program', () => {
    expect(shown([piece('one\n', 0)], false)).toBe('')
  })

  it('sends nothing that drives the terminal, and says where a part is left out', () => {
    expect(shown([piece('a\x1b[2J\n', 0), piece('b\n', 90)])).toBe('  a\\x1b[2J\n  […] b\n')
  })

  it('is bounded: lines of one call, and states in a time', () => {
    const lines = Array.from({ length: 500 }, (_, n) => `${n}\n`).join('')
    expect(shown([piece(lines, 0)]).split('\n')).toHaveLength(102)
    const states = Array.from({ length: 50 }, (_, n) => piece(`${n} of 50`, n * 10, { from: n * 10 }))
    expect(shown(states.slice(1))).toBe('  1 of 50\n')
  })
})
