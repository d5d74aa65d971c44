import { chmodSync, lstatSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { KEY_MARK } from '@headrace/message'
import type { ToolName } from '@headrace/plugin-workspace-tools'
import { withFileLock } from '../src/replace-file.ts'
import { replaceFile } from '../src/replace-file.ts'
import { Workspace } from '../src/workspace.ts'
import { bench, put } from './kit.ts'

describe('write', () => {
  it('makes the folders it needs, replaces whole files, and leaves nothing else behind', async () => {
    const { cwd, text } = bench()
    expect(await text('write', { path: 'a/b/c.txt', content: 'é' })).toBe('Created a/b/c.txt (2 bytes).')
    expect(await text('write', { path: 'a/b/c.txt', content: 'new\r\n' })).toBe('Replaced a/b/c.txt (5 bytes).')
    expect(readFileSync(join(cwd, 'a/b/c.txt'), 'utf8')).toBe('new\r\n')
    expect(readdirSync(join(cwd, 'a/b'))).toEqual(['c.txt'])
  })

  it('keeps the mode of the file, and gives a new one what the system gives', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'run.sh': 'a', 'secret': 'a', 'plain': '' })
    chmodSync(join(cwd, 'run.sh'), 0o755)
    chmodSync(join(cwd, 'secret'), 0o600)
    for (const path of ['run.sh', 'secret', 'new']) await text('write', { path, content: 'b' })
    const modes = ['run.sh', 'secret', 'new', 'plain'].map((name) => statSync(join(cwd, name)).mode & 0o777)
    expect(modes.slice(0, 2)).toEqual([0o755, 0o600])
    expect(modes[2]).toBe(modes[3])
  })

  it('refuses a read-only file, which a rename would replace all the same', async () => {
    const { cwd, refusal } = bench()
    put(cwd, { 'a.txt': 'a' })
    chmodSync(join(cwd, 'a.txt'), 0o444)
    expect(await refusal('write', { path: 'a.txt', content: 'b' })).toContain('a.txt is read-only')
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('a')
    expect(readdirSync(cwd)).toEqual(['a.txt'])
  })

  it('is whole or not at all: the old file is there until the new one is, under another inode', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'a.txt': 'old' })
    const before = lstatSync(join(cwd, 'a.txt')).ino
    await text('write', { path: 'a.txt', content: 'new' })
    expect(lstatSync(join(cwd, 'a.txt')).ino).not.toBe(before)
  })

  it('a cancelled write changes nothing', async () => {
    const { cwd, refusal, controller } = bench()
    put(cwd, { 'a.txt': 'old' })
    controller.abort()
    expect(await refusal('write', { path: 'a.txt', content: 'new' })).toContain('nothing was changed')
    expect(await refusal('write', { path: 'b/c.txt', content: 'new' })).toContain('nothing was changed')
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('old')
    expect(readdirSync(cwd)).toEqual(['a.txt'])
  })
})

it.each(['write', 'edit'] as const)('%s refuses a text in which a key was redacted: it would stand in the place of the key', async (name) => {
  const { call, cwd, refusal } = bench()
  put(cwd, { '.env': 'KEY=sk-0123456789abcdef\nMODE=dev\n' })
  const texts = name === 'write' ? [{ content: `KEY=${KEY_MARK}\nMODE=prod\n` }] : [{ old: `KEY=${KEY_MARK}`, new: 'KEY=x' }, { old: 'MODE=dev', new: `MODE=${KEY_MARK.toUpperCase()}` }]
  for (const text of texts) expect(await refusal(name, { path: '.env', ...text })).toMatch(/stands for a key that you were not shown; nothing was written/)
  expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe('KEY=sk-0123456789abcdef\nMODE=dev\n')
  await call('edit', { path: '.env', old: 'MODE=dev', new: 'MODE=prod' })
  expect(readFileSync(join(cwd, '.env'), 'utf8')).toContain('MODE=prod')
})

describe('edit', () => {
  const edited = async (before: string, input: { old: string; new: string; all?: boolean }): Promise<string> => {
    const { cwd, text } = bench()
    put(cwd, { 'a.txt': before })
    await text('edit', { path: 'a.txt', ...input })
    return readFileSync(join(cwd, 'a.txt'), 'utf8')
  }

  it('replaces the one place, and says at which line', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'a.txt': 'one\ntwo\nthree\n' })
    expect(await text('edit', { path: 'a.txt', old: 'two\n', new: '2\n2\n' })).toBe('Edited a.txt: replaced the text at line 2.')
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('one\n2\n2\nthree\n')
  })

  it('takes the new text as it is: $ has no meaning', async () => {
    expect(await edited('a b', { old: 'a', new: '$& $1 $$' })).toBe('$& $1 $$ b')
  })

  it('more than one match is refused with the lines, also where the matches overlap', async () => {
    const { cwd, refusal } = bench()
    put(cwd, { 'a.txt': 'x\ny\nx\n', 'b.txt': 'aaa', 'c.txt': 'a\n'.repeat(20_000) })
    expect(await refusal('edit', { path: 'a.txt', old: 'x', new: 'z' })).toBe('a.txt has the old text 2 times, at line 1, 3; add the lines around it to say which, or set all.')
    expect(await refusal('edit', { path: 'b.txt', old: 'aa', new: 'z' })).toContain('2 times, at line 1, 1;')
    expect(await refusal('edit', { path: 'c.txt', old: 'a', new: 'z' })).toContain('more than 10000 times, at line 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …;')
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('x\ny\nx\n')
  })

  it('all replaces every place', async () => {
    expect(await edited('aaaa b aa', { old: 'aa', new: 'c', all: true })).toBe('cc b c')
    const { cwd, text } = bench()
    put(cwd, { 'a.txt': 'x\n'.repeat(12) })
    expect(await text('edit', { path: 'a.txt', old: 'x', new: 'y', all: true })).toBe('Edited a.txt: replaced 12 places at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ….')
  })

  it('no match says what comes nearest', async () => {
    const { cwd, refusal } = bench()
    put(cwd, { 'a.js': 'function f() {\n\treturn 1\n}\nconst value = 1\n' })
    const why = (old: string) => refusal('edit', { path: 'a.js', old, new: 'x' })
    expect(await why('function f() {\n  return 1\n}')).toContain('Line 1 to 3 differs from it only in white space.')
    expect(await why('1\tfunction f() {\n2\t\treturn 1')).toContain('Leave out the line numbers')
    expect(await why('const value = 1\nconst other = 2')).toContain('Line 4 has its line "const value = 1", but the lines around differ.')
    expect(await why('class Nothing {}')).toContain('None of its lines is there.')
    expect(await why('\n\n\n')).toContain('a.js does not have the old text.')
  })

  it('equal or empty texts are refused', async () => {
    const { cwd, refusal } = bench()
    put(cwd, { 'a.txt': 'x' })
    expect(await refusal('edit', { path: 'a.txt', old: 'x', new: 'x' })).toContain('the same')
    expect(await refusal('edit', { path: 'a.txt', old: '', new: 'x' })).toContain('empty')
  })

  it('keeps line breaks, the byte order mark and a missing last line break', async () => {
    expect(await edited('\ufeffa\r\nb\r\nc', { old: 'a\nb', new: 'A\nB\nB' })).toBe('\ufeffA\r\nB\r\nB\r\nc')
    expect(await edited('a\r\nb\r\n', { old: 'b', new: 'b\nc' })).toBe('a\r\nb\r\nc\r\n')
    expect(await edited('a\nb\n', { old: 'b', new: 'b\nc' })).toBe('a\nb\nc\n')
    expect(await edited('a\nb\nc\r\nd\r\ne\r\n', { old: 'a\nb', new: 'A\nB' })).toBe('A\nB\nc\r\nd\r\ne\r\n')
    expect(await edited('a\r\nb\r\n', { old: 'a\r\nb', new: 'c\r\nd' })).toBe('c\r\nd\r\n')
  })

  it('refuses what it would damage or cannot hold', async () => {
    const { cwd, refusal } = bench({ maxFile: 1_000 })
    put(cwd, { 'latin1.txt': Buffer.from('caf\xe9', 'latin1'), 'a.bin': Buffer.from([97, 0]), 'big.txt': 'a'.repeat(1_001) })
    expect(await refusal('edit', { path: 'latin1.txt', old: 'caf', new: 'x' })).toContain('not UTF-8')
    expect(await refusal('edit', { path: 'a.bin', old: 'a', new: 'x' })).toContain('not UTF-8')
    expect(await refusal('edit', { path: 'big.txt', old: 'a', new: 'x' })).toContain('larger than the 1000 bytes')
    expect(await refusal('edit', { path: 'none.txt', old: 'a', new: 'x' })).toContain('There is no none.txt')
  })

  it('two edits of one file at once both stand', async () => {
    const { cwd, text } = bench()
    const names = Array.from({ length: 20 }, (_, at) => `item-${at};`)
    put(cwd, { 'a.txt': names.join('\n') })
    await Promise.all(names.map((name) => text('edit', { path: 'a.txt', old: name, new: name.toUpperCase() })))
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe(names.join('\n').toUpperCase())
  })

  it('a file that someone else changed between reading and writing is left alone', async () => {
    const { cwd } = bench()
    put(cwd, { 'a.txt': 'read' })
    const workspace = await Workspace.open(cwd, [])
    const expected = statSync(join(cwd, 'a.txt'))
    writeFileSync(join(cwd, 'a.txt'), 'changed by hand')
    const write = replaceFile(workspace, await workspace.find('a.txt'), Buffer.from('edited'), { signal: new AbortController().signal, expected })
    await expect(write).rejects.toThrow('a.txt was changed by someone else meanwhile')
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('changed by hand')
    expect(readdirSync(cwd)).toEqual(['a.txt'])
  })

  it('edit looks for that', async () => {
    const { cwd, refusal, run, controller } = bench()
    put(cwd, { 'a.txt': 'old' })
    // The signal is asked for between reading and writing: the moment to get in between.
    Object.defineProperty(run, 'signal', { get: () => {
      writeFileSync(join(cwd, 'a.txt'), 'old, but changed by hand')
      return controller.signal
    } })
    expect(await refusal('edit', { path: 'a.txt', old: 'old', new: 'new' })).toContain('changed by someone else')
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('old, but changed by hand')
  })

  it('a failed edit does not keep the next one waiting', async () => {
    await expect(withFileLock('x', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await withFileLock('x', async () => 'free')).toBe('free')
  })
})

describe('asking', () => {
  it('write, edit and bash say what they would do; the others do not ask', async () => {
    const { tool, run } = bench()
    const asked = async (name: ToolName, input: Record<string, unknown>) => {
      const { ask } = tool(name)
      return typeof ask === 'function' ? ask(input, run as never) : ask
    }
    expect(await asked('write', { path: 'a\nb\u202etxt.c', content: '' })).toBe('Write a\\u000ab\\u202etxt.c?')
    expect(await asked('edit', { path: 'src/a.ts', old: 'a', new: 'b' })).toBe('Edit src/a.ts?')
    expect(await asked('bash', { command: 'cd x\nrm -rf y' })).toBe('Run cd x ⏎ rm -rf y')
    expect(await asked('bash', { command: 'npm start', background: true })).toBe('Run in the background npm start')
    expect(await asked('bash', { command: `${'x'.repeat(5_000)}; rm -rf ~` })).toMatch(/^Run x{1000} … 3010 characters … x+; rm -rf ~$/)
    for (const name of ['read', 'list', 'glob', 'grep'] as const) expect(await asked(name, {})).toBeUndefined()
  })

  it('a change is shown as the lines that change, a path as where it leads', async () => {
    const { tool, run, cwd, outside } = bench()
    put(cwd, { 'a.txt': 'one\ntwo\nthree\n', 'b/c.txt': 'x' })
    symlinkSync(join(cwd, 'b'), join(cwd, 'link'))
    symlinkSync(outside, join(cwd, 'away'))
    type Ask = (input: unknown, at: unknown) => Promise<string>
    const asked = (name: ToolName, input: Record<string, unknown>) => (tool(name).ask as Ask)(input, run)
    expect(await asked('edit', { path: 'a.txt', old: 'two', new: '2' })).toBe('  one\n- two\n+ 2\n  three\n  \nEdit a.txt?')
    expect(await asked('write', { path: 'link/c.txt', content: 'y' })).toBe('- x\n+ y\nWrite link/c.txt, which leads to b/c.txt?')
    expect(await asked('write', { path: 'away/c.txt', content: 'y' })).toBe('Write away/c.txt?')
    expect(await asked('write', { path: './b/../a.txt', content: 'one\ntwo\nthree\n' })).toBe('Write ./b/../a.txt?')
  })

  it('what changes something runs alone, what only reads runs in parallel', () => {
    const { tool } = bench()
    const names = ['read', 'write', 'edit', 'list', 'glob', 'grep', 'bash'] as const
    expect(names.filter((name) => tool(name).sequential === true)).toEqual(['write', 'edit', 'bash'])
  })
})
