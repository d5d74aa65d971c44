import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { steps } from '@headrace/model-server'
import { brief, jsonLine, nameText, oneLine, table } from '../src/cli/base/text.ts'
import { Terminal } from '../src/cli/show/terminal.ts'
import { Lab, at } from './command.ts'

/** What a name may bring, and how it is shown. */
const HOSTILE: readonly (readonly [what: string, text: string, shown: string])[] = [
  ['an escape sequence', '\x1b[2Ja', '\\x1b[2Ja'],
  ['a title', '\x1b]0;owned\x07', '\\x1b]0;owned\\x07'],
  ['C1 controls', '\u009b31m\u0085', '\\x9b31m\\x85'],
  ['a line feed', 'a\nforged', 'a\\nforged'],
  ['a carriage return', 'a\rforged', 'a\\x0dforged'],
  ['both', 'a\r\nforged', 'a\\x0d\\nforged'],
  ['separators of lines and paragraphs', 'a\u2028b\u2029c', 'a\\u2028b\\u2029c'],
  ['vertical tab and form feed', 'a\u000bb\u000cc', 'a\\x0bb\\x0cc'],
  ['a turn of direction', 'a\u202egnp.exe\u2066b\u2069', 'a\\u202egnp.exe\\u2066b\\u2069'],
  ['zero width', 'a\u200bb\u200cc\u200dd\u2060e\ufefff', 'a\\u200bb\\u200cc\\u200dd\\u2060e\\ufefff'],
  ['a soft hyphen, fillers and an empty braille cell', 'a\u00adb\u3164c\u115fd\uffa0e\u2800', 'a\\u00adb\\u3164c\\u115fd\\uffa0e\\u2800'.replace('\\u00ad', '\\xad')],
  ['tags', 'a\u{e0041}b', 'a\\u{e0041}b'],
  ['half a character', 'a\ud800b', 'a\ufffdb'],
]

describe('what comes from elsewhere, on one line', () => {
  it.each(HOSTILE)('%s', (_, text, shown) => {
    expect(oneLine(text)).toBe(shown)
    expect(nameText(text)).toBe(shown)
    expect(table([['x', 'y'], [text, text]])[1]).toContain(shown)
    expect(JSON.parse(jsonLine({ text }))).toEqual({ text })
    expect(jsonLine(text)).toMatch(/^[\x20-\x7e]*$/)
  })

  it('letters of any script, combining marks and emoji are as they are', () => {
    for (const text of ['résumé', 'e\u0301', '技能', 'नमस्ते', 'שלום', '👩‍👩‍👧 ❤️ 👍🏽‍x'.replace('\u200dx', '')]) expect(oneLine(text)).toBe(text)
  })

  it('a very long name is cut in its middle, very long prose at its end', () => {
    const long = `/start/${'x'.repeat(1_000_000)}/end`
    expect(nameText(long)).toHaveLength(119)
    expect(nameText(long)).toMatch(/^\/start\/x+…x+\/end$/)
    expect(brief('word '.repeat(1_000_000), 20)).toBe('word word word word…')
    expect(table([[long, 'b']])[0]!.length).toBeLessThan(130)
  })

  it('a row of a table cannot be forged, nor its columns be moved', () => {
    expect(table([['id', 'folder', 'prompt'], ['a\tb\nc', 'f', 'p\nid2  g  q']])).toEqual(['id         folder  prompt', 'a\\tb\\nc  f       p\\nid2  g  q'].map((line) => line.replace('id         ', 'id       ')))
  })
})

it.each([true, false])('each line that is printed, noted or warned of is one, on a terminal: %s', (isTTY) => {
  const [out, err] = [Object.assign(new PassThrough(), { isTTY }), Object.assign(new PassThrough(), { isTTY })]
  const terminal = new Terminal(out, err, { NO_COLOR: '1' })
  for (const [, text] of HOSTILE) {
    terminal.print(text)
    terminal.note(text)
    terminal.warn(text)
    terminal.json({ text })
  }
  for (const [stream, times] of [[out, 2], [err, 2]] as const) {
    const shown = String(stream.read())
    expect(shown.split('\n')).toHaveLength(HOSTILE.length * times + 1)
    // oxlint-disable-next-line no-control-regex
    expect(shown).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/)
  }
})

describe('a log that was imported', () => {
  let lab: Lab
  beforeEach(() => { lab = new Lab() })
  afterEach(() => lab.close())

  it('forges no row of sessions and no line of explain, and sends nothing that drives through a pipe', async () => {
    const hostile = `/tmp/${HOSTILE.map(([, text]) => text).join('')}\n20260101-000000-forged  2026-01-01 00:00  1 B  done  /  forged${'x'.repeat(10_000)}`
    const server = await lab.serve(steps(['Hello.']))
    expect((await lab.run(['run', 'Hi', ...at(server)])).code).toBe(0)
    const exported = (await lab.run(['sessions', 'export', 'last'])).out
    const forged = exported.split('\n').map((line) => (line.includes('"session/open"') ? JSON.stringify(withFolder(JSON.parse(line) as Opened, hostile)) : line)).join('\n')
    const file = join(lab.root, 'forged.jsonl')
    writeFileSync(file, forged)
    expect(await lab.run(['sessions', 'import', file, '--id', 'forged'])).toMatchObject({ code: 0 })
    const commands = ['sessions', 'sessions --json', 'explain forged', 'explain forged --json', 'explain forged --full', 'verify forged', 'sessions export forged']
    for (const args of commands.map((line) => line.split(' '))) {
      const { code, out, err } = await lab.run(args)
      expect([args, code, err]).toEqual([args, 0, ''])
      // oxlint-disable-next-line no-control-regex
      expect(out).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200c\u2028-\u202e\u2066-\u2069]/)
      expect(out.split('\n').filter((line) => line.startsWith('2026') && line.includes('forged')), String(args)).toEqual([])
    }
    const listed = (await lab.run(['sessions'])).out.trim().split('\n')
    expect(listed).toHaveLength(3)
    expect(Math.max(...listed.map((line) => line.length))).toBeLessThan(400)
    expect((await lab.run(['explain', 'forged'])).out.split('\n')[0]!.length).toBeLessThan(200)
  })
})

interface Opened {
  readonly data: object
}

function withFolder(event: Opened, cwd: string): object {
  return { ...event, data: { ...event.data, cwd: cwd.toWellFormed() } }
}
