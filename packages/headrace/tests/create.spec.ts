import { mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writeNewFolder } from '../src/cli/commands/create.ts'
import { toPluginName } from '../src/cli/commands/create.ts'
import { readTemplate } from '../src/cli/commands/create.ts'
import { Lab } from './command.ts'

let lab: Lab
beforeEach(() => void (lab = new Lab()))
afterEach(() => lab.close())

const made = async (folder: string): Promise<readonly string[]> =>
  (await readdir(join(lab.cwd, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(lab.cwd, folder).length + 1))
    .sort()

describe('the name of a plugin', () => {
  it.each([
    ['runbook', 'headrace-plugin-runbook', 'runbook', 'headrace-plugin-runbook'],
    ['headrace-plugin-runbook', 'headrace-plugin-runbook', 'runbook', 'headrace-plugin-runbook'],
    ['plugin-run_book2', 'headrace-plugin-run_book2', 'run_book2', 'headrace-plugin-run_book2'],
    ['@acme/plugin-runbook', '@acme/plugin-runbook', 'runbook', 'plugin-runbook'],
    ['@acme/headrace-plugin-runbook', '@acme/headrace-plugin-runbook', 'runbook', 'headrace-plugin-runbook'],
    ['@a.c_me/runbook', '@a.c_me/runbook', 'runbook', 'runbook'],
    ['9', 'headrace-plugin-9', '9', 'headrace-plugin-9'],
  ])('%s is the package %s, signs as %s and lies in %s', (text, name, plugin, folder) => {
    expect(toPluginName(text)).toEqual({ package: name, plugin, folder })
  })

  it.each([
    '', 'Runbook', 'run book', '../runbook', 'run/book', '/runbook', '.runbook', '_runbook', '-runbook', 'run.book', 'rün', 'plugin-', 'headrace-plugin-',
    '@acme', '@/runbook', '@Acme/runbook', '@acme/', '@acme/../runbook', '@.acme/runbook', 'a'.repeat(51), `@${'a'.repeat(200)}/${'b'.repeat(50)}`,
    'app', 'user', 'plugin-model', '@acme/plugin-loop', 'run\nbook', '"runbook"', '$(runbook)',
  ])('%j is refused, with the way out', (text) => {
    expect(() => toPluginName(text)).toThrow(/^the name .*; give one such as runbook, or @you\/plugin-runbook$/)
  })
})

/** What the command prints as long as headrace is not on npm; it changes no package.json. */
const install = 'npm i --no-save /tmp/headrace/*.tgz'

describe('create plugin', () => {
  it('makes a package and prints the next three commands', async () => {
    const { code, out, err } = await lab.run(['create', 'plugin', 'runbook'])
    expect({ code, out, err }).toEqual({
      code: 0, out: `  cd headrace-plugin-runbook\n  ${install}\n  npm test\n`, err: expect.stringMatching(`^made headrace-plugin-runbook in ${lab.cwd}/headrace-plugin-runbook\n`) as string,
    })
    expect(err).toContain('headrace is not on npm yet: first run "npm run pack:all /tmp/headrace" in a clone of it\n')
    expect(await made('headrace-plugin-runbook')).toEqual([
      '.gitignore', 'README.md', 'package.json', 'src/glossary.ts', 'src/index.ts', 'src/plugin.ts', 'tests/growth.spec.ts', 'tests/plugin.spec.ts', 'tsconfig.build.json', 'tsconfig.json',
    ])
    expect(JSON.parse(lab.read('headrace-plugin-runbook/package.json'))).toMatchObject({ name: 'headrace-plugin-runbook', peerDependencies: { '@headrace/agent': '^0.1.0' } })
    expect(lab.read('headrace-plugin-runbook/src/plugin.ts')).toContain(`export const name = 'runbook'`)
  })

  it('leaves no word of the template behind', async () => {
    await lab.run(['create', 'plugin', '@acme/plugin-runbook', '--dir', 'here'])
    for (const file of await made('here')) expect([file, /package-name|plugin-name|headrace-version/.exec(lab.read(`here/${file}`))?.[0]]).toEqual([file, undefined])
  })

  it.each([['an empty folder', 'empty'], ['one in folders that are not there', 'a/b c/d'], ['a folder in which git was begun', 'begun']])('writes into %s', async (_, folder) => {
    await mkdir(join(lab.cwd, 'empty'))
    await mkdir(join(lab.cwd, 'begun/.git'), { recursive: true })
    expect(await lab.run(['create', 'plugin', 'runbook', '--dir', folder])).toMatchObject({ code: 0 })
    expect(lab.read(`${folder}/README.md`)).toMatch(/^# headrace-plugin-runbook\n/)
  })

  it('quotes a folder that a shell would take apart, and needs no cd where it stands', async () => {
    expect(await lab.run(['create', 'plugin', 'runbook', '--dir', `a b'c`])).toMatchObject({ out: `  cd 'a b'\\''c'\n  ${install}\n  npm test\n` })
    await rm(join(lab.cwd, `a b'c`), { recursive: true })
    await rm(join(lab.cwd, 'a.txt'))
    expect(await lab.run(['create', 'plugin', 'runbook', '--dir', '.'])).toMatchObject({ code: 0, out: `  ${install}\n  npm test\n  npm run check\n` })
  })

  it.each([['pnpm-workspace.yaml', 'pnpm'], ['yarn.lock', 'yarn'], ['package-lock.json', 'npm']])('in a workspace with a %s the commands are of %s', async (file, manager) => {
    await writeFile(join(lab.cwd, file), '')
    expect(await lab.run(['create', 'plugin', 'runbook', '--dir', 'plugins/runbook'])).toMatchObject({ out: `  cd plugins/runbook\n  ${manager === 'npm' ? install : `${manager} install`}\n  ${manager} test\n` })
  })

  it('refuses a folder that is not empty, and does not touch it', async () => {
    await mkdir(join(lab.cwd, 'full'))
    await writeFile(join(lab.cwd, 'full/README.md'), 'mine')
    expect(await lab.run(['create', 'plugin', 'runbook', '--dir', 'full'])).toEqual({
      code: 1, out: '', err: `headrace: ${lab.cwd}/full is not empty, so nothing was written; name another folder with --dir\n`,
    })
    expect(await made('full')).toEqual(['README.md'])
    expect(lab.read('full/README.md')).toBe('mine')
  })

  it('refuses what is not a folder', async () => {
    expect(await lab.run(['create', 'plugin', 'runbook', '--dir', 'a.txt'])).toMatchObject({ code: 1, err: expect.stringContaining('a.txt is not a folder') as string })
    expect(lab.read('a.txt')).toBe('alpha\n')
  })

  it('refuses a wrong name as a wrong command line', async () => {
    expect(await lab.run(['create', 'plugin', '../Runbook'])).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/^headrace: the name "\.\.\/Runbook" has/) as string })
    expect(await readdir(lab.cwd)).toEqual(['a.txt'])
  })

  it('says what there is to create', async () => {
    expect(await lab.run(['create'])).toMatchObject({ code: 2, err: expect.stringContaining('create plugin <name>') as string })
  })
})

describe('a folder that cannot be written to its end', () => {
  it('is as it was, and so are the folders above it', async () => {
    const files = new Map([['a.txt', 'a'], ['src/b.ts', 'b'], ['a.txt/c.ts', 'c']])
    await expect(writeNewFolder(join(lab.cwd, 'x/y'), files)).rejects.toThrow(/x\/y could not be written, and is as it was: /)
    expect(await readdir(lab.cwd)).toEqual(['a.txt'])
  })

  it('keeps what was there before', async () => {
    await mkdir(join(lab.cwd, 'x/.git'), { recursive: true })
    await expect(writeNewFolder(join(lab.cwd, 'x'), new Map([['a', 'a'], ['a/b', 'b']]))).rejects.toThrow('could not be written')
    expect(await readdir(join(lab.cwd, 'x'))).toEqual(['.git'])
  })

  it('never has a file that is there written over', async () => {
    await mkdir(join(lab.cwd, 'x/.git'), { recursive: true })
    await writeFile(join(lab.cwd, 'x/.git/config'), 'mine')
    await expect(writeNewFolder(join(lab.cwd, 'x'), new Map([['a', 'a'], ['.git/config', 'b']]))).rejects.toThrow('could not be written')
    expect([lab.read('x/.git/config'), await readdir(join(lab.cwd, 'x'))]).toEqual(['mine', ['.git']])
  })

  it('is as it was where a folder above it is a link to nowhere', async () => {
    await symlink(join(lab.cwd, 'nowhere'), join(lab.cwd, 'above'))
    await expect(writeNewFolder(join(lab.cwd, 'above/x'), new Map([['a', 'a']]))).rejects.toThrow(/above\/x could not be written, and is as it was: ENOENT/)
    expect(await readdir(lab.cwd)).not.toContain('nowhere')
  })

  it('is not one behind a link that leads nowhere', async () => {
    await symlink(join(lab.cwd, 'nowhere'), join(lab.cwd, 'link'))
    await expect(writeNewFolder(join(lab.cwd, 'link'), new Map([['a', 'a']]))).rejects.toThrow('could not be written')
    expect(await readdir(lab.cwd)).toEqual(['a.txt', 'link'])
  })
})

describe('the template', () => {
  const text = async (path: string): Promise<string> => (await readTemplate('plugin', { 'package-name': 'x', 'headrace-version': '1.2.3' })).get(path)!

  it('asks for the versions that the workspace has', async () => {
    const { dependencies, peerDependencies, devDependencies } = JSON.parse(await text('package.json')) as Record<string, Record<string, string>>
    const root = new URL('../../../', import.meta.url)
    const workspace = JSON.parse(await readFile(new URL('package.json', root), 'utf8')) as { devDependencies: Record<string, string> }
    const shared = await readFile(new URL('pnpm-workspace.yaml', root), 'utf8')
    for (const name of ['@types/node', 'typescript', 'vitest']) expect([name, devDependencies![name]]).toEqual([name, workspace.devDependencies[name]])
    expect(shared).toContain(`  cordis: ${devDependencies!.cordis!}\n`)
    expect(shared).toContain(`  schemastery: ${dependencies!.schemastery!.slice(1)}\n`)
    expect(peerDependencies!.cordis).toBe(`^${devDependencies!.cordis!}`)
    for (const [name, range] of Object.entries({ ...peerDependencies, ...devDependencies })) if (name.startsWith('@headrace/')) expect(range).toBe('^1.2.3')
  })

  it('is plain text that names nothing of this machine', async () => {
    for (const [path, content] of await readTemplate('plugin', { 'package-name': 'x' })) expect([path, /\r|\t|\/work\/|\/home\//.exec(content)?.[0]]).toEqual([path, undefined])
  })
})
