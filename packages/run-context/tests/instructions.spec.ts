import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { InstructionsError, RunContextError, instructionsFromFiles } from '@headrace/run-context'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'instructions-'))
  chmodSync(folder, 0o755)
})
afterEach(() => rmSync(folder, { recursive: true }))

const at = (name: string) => join(folder, name)
function write(name: string, content: string | Uint8Array): string {
  writeFileSync(at(name), content)
  return at(name)
}

function refusal(path: string): InstructionsError {
  const good = write('good.md', 'Good.')
  try {
    instructionsFromFiles([good, path])
  } catch (error) {
    expect(error).toBeInstanceOf(InstructionsError)
    expect((error as InstructionsError).path).toBe(path)
    expect((error as InstructionsError).message).toContain(path)
    return error as InstructionsError
  }
  throw new Error('nothing was refused')
}

/** Root may read everything: become somebody else for the time of a call. */
function withoutRoot<T>(run: () => T): T {
  if (process.geteuid?.() !== 0) return run()
  process.seteuid?.(65_534)
  try {
    return run()
  } finally {
    process.seteuid?.(0)
  }
}

describe('instructionsFromFiles', () => {
  it('gives each file under its basename, in order, without trailing white space, joined by blank lines', () => {
    mkdirSync(at('nested'))
    const paths = [write('nested/AGENTS.md', '\n  Be kind.\n\nBe brief. \n\u0085\n'), write('CLAUDE.md', 'Test.')]
    expect(instructionsFromFiles(paths)).toBe('## AGENTS.md\n\n\n  Be kind.\n\nBe brief.\n\n## CLAUDE.md\n\nTest.')
    expect(instructionsFromFiles(paths.toReversed())).toMatch(/^## CLAUDE\.md/)
  })

  it('skips what is missing, so that the caller needs no check', () => {
    const file = write('AGENTS.md', 'Be kind.')
    expect(instructionsFromFiles([at('none.md'), file, join(file, 'below-a-file.md'), at('no/folder.md')])).toBe('## AGENTS.md\n\nBe kind.')
    expect(instructionsFromFiles([at('none.md')])).toBe('')
    expect(instructionsFromFiles([])).toBe('')
  })

  it('skips what is no regular file', () => {
    mkdirSync(at('AGENTS.md'))
    expect(instructionsFromFiles([at('AGENTS.md'), '/dev/null'])).toBe('')
  })

  it('gives a file with nothing in it as its heading', () => {
    expect(instructionsFromFiles([write('a.md', ' \n'), write('b.md', 'B')])).toBe('## a.md\n\n## b.md\n\nB')
  })

  it('follows symlinks, and calls them by their own name', () => {
    write('AGENTS.md', 'Be kind.')
    symlinkSync('AGENTS.md', at('CLAUDE.md'))
    symlinkSync('CLAUDE.md', at('GEMINI.md'))
    expect(instructionsFromFiles([at('GEMINI.md')])).toBe('## GEMINI.md\n\nBe kind.')
  })

  it('refuses a dangling symlink, naming it', () => {
    symlinkSync('none.md', at('AGENTS.md'))
    symlinkSync('AGENTS.md', at('CLAUDE.md'))
    symlinkSync(join(write('file', ''), 'below'), at('GEMINI.md'))
    for (const name of ['AGENTS.md', 'CLAUDE.md', 'GEMINI.md']) expect(refusal(at(name)).code).toBe('INSTRUCTIONS_DANGLING')
  })

  it('refuses a symlink that leads to itself, naming it', () => {
    symlinkSync('AGENTS.md', at('AGENTS.md'))
    const error = refusal(at('AGENTS.md'))
    expect(error.code).toBe('INSTRUCTIONS_UNREADABLE')
    expect(error.cause).toMatchObject({ code: 'ELOOP' })
  })

  it('refuses a file that may not be read, naming it', () => {
    const path = write('AGENTS.md', 'Secret.')
    chmodSync(path, 0o000)
    write('good.md', 'Good.')
    const error = withoutRoot(() => { try { return instructionsFromFiles([at('good.md'), path]) } catch (error) { return error } })
    expect(error).toBeInstanceOf(InstructionsError)
    expect(error).toMatchObject({ code: 'INSTRUCTIONS_UNREADABLE', path, cause: { code: 'EACCES', syscall: 'open' } })
    expect((error as Error).message).toContain(path)
  })

  it('refuses a file in a folder that may not be searched: it cannot be known to be missing', () => {
    mkdirSync(at('closed'))
    const path = write('closed/AGENTS.md', 'Secret.')
    chmodSync(at('closed'), 0o000)
    const error = withoutRoot(() => { try { return instructionsFromFiles([path]) } catch (error) { return error } })
    expect(error).toMatchObject({ code: 'INSTRUCTIONS_UNREADABLE', path, cause: { code: 'EACCES' } })
    chmodSync(at('closed'), 0o755)
  })

  it('refuses a path that no file can have, naming it', () => {
    expect(refusal('AGENTS\0.md').code).toBe('INSTRUCTIONS_UNREADABLE')
    expect(refusal(at('a'.repeat(300))).code).toBe('INSTRUCTIONS_UNREADABLE')
  })

  it.each([
    ['a byte that begins nothing', [0x61, 0xff]],
    ['a character cut short', [0xf0, 0x9f, 0x98]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['UTF-16', [0xff, 0xfe, 0x61, 0x00]],
  ])('refuses invalid UTF-8, naming the path: %s', (_name, bytes) => {
    expect(refusal(write('AGENTS.md', Uint8Array.from(bytes))).code).toBe('INSTRUCTIONS_NOT_UTF8')
  })

  it('drops a BOM at the start, one, and no other', () => {
    expect(instructionsFromFiles([write('a.md', '\uFEFFa\uFEFFb')])).toBe('## a.md\n\na\uFEFFb')
    expect(instructionsFromFiles([write('a.md', '\uFEFF\uFEFFa')])).toBe('## a.md\n\n\uFEFFa')
  })

  it('turns CRLF into LF, and leaves a lone CR', () => {
    expect(instructionsFromFiles([write('a.md', 'a\r\n\r\nb\rc\r\r\nd\r\n')])).toBe('## a.md\n\na\n\nb\rc\r\nd')
  })

  it('refuses one path where a list belongs', () => {
    // @ts-expect-error a string is a list of characters
    expect(() => instructionsFromFiles('AGENTS.md')).toThrow(RunContextError)
  })
})
