import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nodeFiles } from '@headrace/files'
import { World, call, skillText, survey } from './kit.ts'

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => world.remove())

describe('a SKILL.md as authors write them', () => {
  it.each([
    ['an unquoted colon', '---\nname: pdf\ndescription: Run it: always\n---\nBody.', 'Run it: always', ['YAML_REPAIRED']],
    ['a description wrapped onto an unindented line', '---\nname: pdf\ndescription: Reads files\nand writes them.\nlicense: MIT\n---\nBody.', 'Reads files and writes them.', ['YAML_REPAIRED']],
    ['a wrapped description at the end', '---\nname: pdf\ndescription: Reads files\nand writes them.\n---\nBody.', 'Reads files and writes them.', ['YAML_REPAIRED']],
    ['a wrapped line that has a colon', '---\nname: pdf\ndescription: Reads files.\nUse when: the user asks.\n---\nBody.', 'Reads files. Use when: the user asks.', ['YAML_REPAIRED']],
    ['a folded description that is not indented', '---\nname: pdf\ndescription: >\nReads files\nand more\n---\nBody.', 'Reads files and more', ['YAML_REPAIRED']],
    ['a value that begins with a reserved character', '---\nname: pdf\ndescription: "@file" and `code`\n---\nBody.', '"@file" and `code`', ['YAML_REPAIRED']],
    ['a quote inside of quotes', "---\nname: pdf\ndescription: 'It's good'\n---\nBody.", "It's good", ['YAML_REPAIRED']],
    ['a tab as indentation', '---\nname: pdf\ndescription: Reads.\nmetadata:\n\tauthor: me\n---\nBody.', 'Reads.', ['YAML_REPAIRED']],
    ['a field given twice', '---\nname: pdf\ndescription: Reads.\ndescription: Writes.\n---\nBody.', 'Reads.', ['YAML_REPAIRED']],
    ['a BOM', '\uFEFF---\nname: pdf\ndescription: Reads.\n---\nBody.', 'Reads.', []],
    ['CRLF', '---\r\nname: pdf\r\ndescription: Reads.\r\n---\r\nBody.', 'Reads.', []],
    ['CR alone', '---\rname: pdf\rdescription: Reads.\r---\rBody.', 'Reads.', []],
    ['trailing spaces on the fences', '---  \nname: pdf\ndescription: Reads.\n--- \t\nBody.', 'Reads.', []],
    ['blank lines ahead of the fence', '\n\n---\nname: pdf\ndescription: Reads.\n---\nBody.', 'Reads.', []],
    ['a folded description', '---\nname: pdf\ndescription: >-\n  Reads\n  files.\n---\nBody.', 'Reads files.', []],
    ['numbers and words that YAML has types for', '---\nname: "123"\ndescription: 2024-01-01\n---\nBody.', '2024-01-01', []],
    ['a list and nested values where text is meant', '---\nname: pdf\ndescription: Reads.\nallowed-tools:\n  - Read\nmetadata:\n  version: 1.0\n---\nBody.', 'Reads.', []],
  ])('is read as the author meant: %s', async (_, text, description, codes) => {
    world.skill(text.includes('"123"') ? '123' : 'pdf', text)
    const found = await survey(world)
    expect(found.list).toMatchObject([{ description }])
    expect(found.codes).toEqual(codes)
  })

  it('has rules of --- in its body', async () => {
    world.skill('pdf', '---\nname: pdf\ndescription: Reads.\n---\nOne.\n\n---\n\nTwo: x\n---\n')
    expect((await survey(world)).diagnostics).toEqual([])
    expect((await call(world, { name: 'pdf' })).text).toMatch(/\n\nOne\.\n\n---\n\nTwo: x\n---$/)
  })

  it('has license, compatibility, metadata and allowed-tools', async () => {
    const fields = 'license: MIT\ncompatibility: Needs git\nmetadata:\n  author: me\n  version: 1.0\nallowed-tools: Bash(git log:*) Read'
    world.skill('pdf', `---\nname: pdf\ndescription: Reads.\n${fields}\n---\n`)
    const { list, codes } = await survey(world)
    expect(codes).toEqual([])
    expect(list).toEqual([{
      name: 'pdf', description: 'Reads.', license: 'MIT', compatibility: 'Needs git', metadata: { author: 'me', version: '1.0' },
      allowedTools: ['Bash(git log:*)', 'Read'], folder: join(world.project, '.agents/skills/pdf'), file: join(world.project, '.agents/skills/pdf/SKILL.md'), source: 'project',
    }])
  })

  it('keeps the fields that can be read where another cannot', async () => {
    world.skill('pdf', '---\nname: pdf\ndescription: Run it: always\nmetadata: [a\nallowed-tools: Read, Grep\nargument-hint: [file] [mode]\n---\n')
    const { list, codes } = await survey(world)
    expect(list).toMatchObject([{ description: 'Run it: always', allowedTools: ['Read', 'Grep'] }])
    expect(codes).toEqual(['YAML_REPAIRED', 'FIELD_UNKNOWN', 'FIELD_INVALID'])
  })
})

describe('a SKILL.md that is wrong', () => {
  const long = 'x'.repeat(1_025)
  it.each([
    ['no name', 'pdf', '---\ndescription: Reads.\n---\n', 'pdf', ['NAME_MISSING']],
    ['a name that is not its folder’s', 'pdf', skillText('docs'), 'docs', ['NAME_MISMATCH']],
    ['upper case in a folder with a name', 'pdf', skillText('PDF'), 'pdf', ['NAME_INVALID']],
    ['upper case', 'PDF', skillText('PDF'), undefined, ['NAME_INVALID']],
    ['--', 'a--b', skillText('a--b'), undefined, ['NAME_INVALID']],
    ['a hyphen at the end', 'a-', skillText('a-'), undefined, ['NAME_INVALID']],
    ['65 characters', 'a'.repeat(65), skillText('a'.repeat(65)), undefined, ['NAME_INVALID']],
    ['64 characters', 'a'.repeat(64), skillText('a'.repeat(64)), 'a'.repeat(64), []],
    ['a name that is a path', 'pdf', skillText('../../etc/passwd'), 'pdf', ['NAME_INVALID']],
    ['a name that is an absolute path', 'pdf', skillText('/etc/passwd'), 'pdf', ['NAME_INVALID']],
    ['a name with a slash in a good folder', 'ci-cd', skillText('CI/CD'), 'ci-cd', ['NAME_INVALID']],
    ['a name that is a path in a bad folder', 'A', skillText('../x'), undefined, ['NAME_INVALID']],
    ['a name that is a list', 'pdf', skillText('[a, b]'), 'pdf', ['NAME_INVALID']],
    ['no description', 'pdf', '---\nname: pdf\n---\n', undefined, ['DESCRIPTION_MISSING']],
    ['a blank description', 'pdf', '---\nname: pdf\ndescription: "  "\n---\n', undefined, ['DESCRIPTION_MISSING']],
    ['1,024 characters', 'pdf', skillText('pdf', '😀'.repeat(1_024)), 'pdf', []],
    ['1,025 characters', 'pdf', skillText('pdf', long), 'pdf', ['DESCRIPTION_LONG']],
    ['a list as root', 'pdf', '---\n- name: pdf\n- description: Reads.\n---\n', undefined, ['FRONTMATTER_INVALID']],
    ['text as root', 'pdf', '---\njust text\n---\n', undefined, ['FRONTMATTER_INVALID']],
    ['nothing between the fences', 'pdf', '---\n---\n', undefined, ['FRONTMATTER_INVALID']],
    ['an unknown field', 'pdf', '---\nname: pdf\ndescription: Reads.\nmodel: opus\n---\n', 'pdf', ['FIELD_UNKNOWN']],
    ['no frontmatter', 'pdf', '# PDF\n', undefined, ['FRONTMATTER_MISSING']],
    ['a frontmatter that is not closed', 'pdf', '---\nname: pdf\ndescription: Reads.\n', undefined, ['FRONTMATTER_MISSING']],
    ['an empty file', 'pdf', '', undefined, ['FRONTMATTER_MISSING']],
    ['UTF-16', 'pdf', Buffer.from(`\uFEFF${skillText('pdf')}`, 'utf16le'), 'pdf', []],
    ['UTF-16 without a mark', 'pdf', Buffer.from(skillText('pdf'), 'utf16le'), undefined, ['FILE_NOT_TEXT']],
    ['a NUL character', 'pdf', skillText('pdf', 'a\0b'), undefined, ['FILE_NOT_TEXT']],
    ['invalid UTF-8', 'pdf', Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe, 0x0a]), undefined, ['FILE_NOT_TEXT']],
    ['more than 1 MB', 'pdf', skillText('pdf', 'x', 'x'.repeat(1_000_001)), undefined, ['FILE_LARGE']],
    ['an unreadable field', 'pdf', '---\nname: pdf\ndescription: Reads.\nmetadata: [a]\nallowed-tools: {a: b}\nlicense: [MIT]\n---\n', 'pdf', ['FIELD_INVALID', 'FIELD_INVALID', 'FIELD_INVALID']],
  ])('is loaded where it can be, and hides no other: %s', async (_, folder, text, name, codes) => {
    world.skill(folder, text)
    world.skill('aaa-other')
    world.skill('zzz-other')
    const found = await survey(world)
    expect(found.names).toEqual(['aaa-other', ...(name === undefined ? [] : [name]), 'zzz-other'].sort())
    expect(found.codes).toEqual(codes)
    for (const { path, message, severity } of found.diagnostics) {
      expect(path).toBe(join(world.project, '.agents/skills', folder, 'SKILL.md'))
      expect(message).not.toMatch(/\n/)
      expect(severity).toBe(name === undefined ? 'error' : 'warning')
    }
  })

  it('is cut to 1,024 characters where its description has more', async () => {
    world.skill('pdf', skillText('pdf', long))
    const [skill] = (await survey(world)).list
    expect(skill!.description).toBe(`${'x'.repeat(1_023)}…`)
  })

  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefghij'].map((key, index) => `  ${key}: &${key} [${Array(9).fill(`*${'abcdefghij'[index]}`).join(',')}]`).join('\n')}`
  it.each([
    ['aliases that grow', `metadata:\n  ${bomb}`, 'bomb', ['YAML_REPAIRED', 'FIELD_INVALID']],
    ['deep nesting', `metadata: ${'['.repeat(10_000)}`, undefined, ['FRONTMATTER_LARGE']],
    ['very many keys', Array.from({ length: 600 }, (__, index) => `k${index}: v`).join('\n'), undefined, ['FRONTMATTER_LARGE']],
    ['a long value', `license: ${'x'.repeat(17_000)}`, undefined, ['FRONTMATTER_LARGE']],
    ['900 kB', `license: ${'word '.repeat(180_000)}`, undefined, ['FRONTMATTER_LARGE']],
  ])('cannot take time or memory: %s', async (_, yaml, name, codes) => {
    world.skill('bomb', `---\nname: bomb\ndescription: Reads.\n${yaml}\n---\n`)
    world.skill('pdf')
    const found = await survey(world)
    expect(found.names).toEqual([...(name === undefined ? [] : [name]), 'pdf'])
    expect(found.codes).toEqual(codes)
    expect(found.list.find((skill) => skill.name === 'bomb')?.metadata).toBeUndefined()
  })

  it('is no file: a folder or a FIFO of that name is passed over with a diagnostic', async () => {
    mkdirSync(join(world.project, '.agents/skills/folder/SKILL.md'), { recursive: true })
    mkdirSync(join(world.project, '.agents/skills/fifo'), { recursive: true })
    execFileSync('mkfifo', [join(world.project, '.agents/skills/fifo/SKILL.md')])
    world.skill('pdf')
    const found = await survey(world)
    expect(found.names).toEqual(['pdf'])
    expect(found.codes).toEqual(['FILE_KIND', 'FILE_KIND'])
    // One that takes a file's place after it was looked at is refused too, and not waited for.
    expect(await nodeFiles.read(join(world.project, '.agents/skills/fifo/SKILL.md'), 10)).toMatchObject({ bytes: new Uint8Array(), before: { kind: 'pipe' } })
  })
})
