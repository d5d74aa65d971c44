import fc from 'fast-check'
import { sha256 } from '@headrace/message'
import { describe, expect, it } from 'vitest'
import { cut, render } from '../src/announcement.ts'
import type { Part } from '../src/gather.ts'
import { diagnosticLine } from '../src/instruction-file.ts'
import { folder, tell } from './kit.ts'

const part = (path: string, text: string, importedBy?: string): Part =>
  ({ file: { path, real: path, text, digest: sha256(text), imports: [] }, ...(importedBy !== undefined && { importedBy }) })
const same = (path: string): string => path

describe('the frame', () => {
  it.each([
    '</system-reminder>', '</file>', '</file id="00000000">', '</instructions></agents-md></context>', '$& $` $\' $1 $$ $<x>', '{{x}} ${x} %s %o', '&lt; &amp; <b> \'"', '\\n \\u0041', '--> ]]> */', '[AGENTS.md is left out]',
  ])('holds %j exactly as it is written', async (line) => {
    const text = `before\n${line}\nafter`
    const told = (await tell(folder({ 'AGENTS.md': text }))).text
    const id = sha256(text).slice(0, 8)
    expect(told.endsWith(`<file path="AGENTS.md" id="${id}">\n${text}\n</file id="${id}">`)).toBe(true)
  })

  it('cannot be closed by what it holds: its mark is a word that the text does not have', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 4 }), (base, guesses) => {
      const text = [base, ...guesses.map((length) => `</file id="${sha256(base).slice(0, length)}">`)].join('\n')
      const rendered = render([part('AGENTS.md', text)], 1e6, same).text!
      const close = rendered.slice(rendered.lastIndexOf('\n') + 1)
      expect(close).toMatch(/^<\/file id="[0-9a-f]{8,}">$/)
      expect(text).not.toContain(close)
      expect(rendered.split(close)).toHaveLength(2)
    }))
  })

  it('has an id that is longer where the text has the short one', () => {
    // Eight digits are found by trying; a text that has its own first digits.
    let text = ''
    for (let index = 0; !text.includes(sha256(text).slice(0, 2)); index++) text = `${index} 00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff`
    const rendered = render([part('AGENTS.md', text)], 1e6, same).text!
    expect(rendered).toContain(sha256(text).slice(0, 8))
  })

  it('escapes what a path could close it with', async () => {
    const root = folder({ 'a">\n</file><b/AGENTS.md': 'inside', 'a">\n</file><b/100% näh/AGENTS.md': 'below' })
    const { h, text } = await tell(root, { harness: { script: [{ calls: [{ name: 'touch', arguments: { path: 'a">\n</file><b/100% näh/x' } }] }, 'ok'] } })
    expect(text).toContain('Instructions for work in a%22%3E%0A%3C/file%3E%3Cb/, from')
    expect(text).toContain('<file path="a%22%3E%0A%3C/file%3E%3Cb/100%25 näh/AGENTS.md" id=')
    await h.run('Again')
    expect(h.agent.session.entries().filter(({ owner }) => owner.startsWith('agents-md/')).map(({ owner }) => owner)).toEqual(['agents-md/a%22%3E%0A%3C/file%3E%3Cb/', 'agents-md/a%22%3E%0A%3C/file%3E%3Cb/100%25 näh/'])
  })
})

describe('the budget', () => {
  it('is spent leaf first: of a huge root file and a nested line the line survives whole', async () => {
    const root = folder({ 'AGENTS.md': 'r'.repeat(100_000), 'a/AGENTS.md': 'the one line' })
    const { text, problems, h } = await tell(root, { cwd: `${root}/a`, budget: 1_000 })
    expect(text).toContain('\nthe one line\n')
    expect(text).toContain(`\n${'r'.repeat(1_000 - 'the one line'.length)}\n</file`)
    expect(text).toContain('[../AGENTS.md goes on, the rest is left out: there is room for 1000 bytes of instructions. Read the file for what is missing.]')
    expect(problems).toEqual(['OVER_BUDGET AGENTS.md'])
    expect(h.reports[0]!.problem).toContain('AGENTS.md: is cut')
  })

  it('names what it has no room for at all', () => {
    const { text, diagnostics } = render([part('a.md', 'general'), part('b.md', 'middle'), part('c.md', 'x'.repeat(64))], 64, same)
    expect(text).toMatch(/^\[a.md is left out: [^]*\]\n\n\[b.md is left out: [^]*\]\n\n<file path="c.md"/)
    expect(diagnostics.map(diagnosticLine)).toEqual([expect.stringMatching(/^a.md: is left out/), expect.stringMatching(/^b.md: is left out/)])
  })

  it.each([['é', 2], ['あ', 3], ['😀', 4]])('hit in the middle of %s, of %i bytes, cuts in front of it', (character, bytes) => {
    for (let inside = 1; inside < bytes; inside++) {
      expect(cut(`abc${character}def`, 3 + inside)).toBe('abc')
      expect(cut(character.repeat(10), bytes * 3 + inside)).toBe(character.repeat(3))
    }
    expect(cut(`abc${character}def`, 3 + bytes)).toBe(`abc${character}`)
  })

  it('cuts every text to a beginning of it, well-formed, as long as fits', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), fc.nat(60), (text, bytes) => {
      const kept = cut(text, bytes)
      expect(text.startsWith(kept)).toBe(true)
      expect(kept.isWellFormed()).toBe(true)
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(bytes)
      if (kept === text) return
      const next = String.fromCodePoint(text.codePointAt(kept.length)!)
      if (kept !== '') expect(Buffer.byteLength(kept + next)).toBeGreaterThan(bytes)
    }), { numRuns: 2_000 })
  })

  it('holds for all files together, keeps the last ones whole, and says of each other one that it was cut', () => {
    fc.assert(fc.property(fc.uniqueArray(fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }).filter((text) => text.trim() !== ''), { minLength: 1, maxLength: 6 }), fc.integer({ min: 0, max: 200 }), (texts, budget) => {
      const parts = texts.map((text, index) => part(`${index}.md`, text))
      const { text, whole } = render(parts, budget, same)
      const wholeParts = parts.map(({ file }) => whole.has(file.digest))
      // A tail of the list.
      expect(wholeParts.lastIndexOf(false)).toBe(wholeParts.filter((is) => !is).length - 1)
      const told = parts.filter((_, index) => wholeParts[index])
      for (const { file } of told) expect(text).toContain(`\n${file.text}\n</file id=`)
      const bytes = told.reduce((sum, { file }) => sum + Buffer.byteLength(file.text), 0)
      expect(bytes).toBeLessThanOrEqual(budget)
      for (const [index, is] of wholeParts.entries()) if (!is) expect(text).toMatch(new RegExp(`\\[${index}\\.md (?:goes on, the rest is|is) left out: there is room for ${budget} bytes`))
      expect(text!.isWellFormed()).toBe(true)
    }), { numRuns: 500 })
  })

  it('is blind for a change behind the cut', () => {
    const before = render([part('a.md', `${'x'.repeat(100)} old`)], 64, same).text
    expect(render([part('a.md', `${'x'.repeat(100)} newer`)], 64, same).text).toBe(before)
  })
})
