import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf } from '../docs/blocks.ts'
import { root } from '../rules/workspace.ts'
import { Folder } from './folder.ts'
import { type Outcome, run, succeed } from './process.ts'
import { tarballs } from './tarball.ts'

let command: Folder
beforeAll(async () => void (command = await Folder.with(['headrace'])))
afterAll(() => command.remove())

const headrace = (args: readonly string[], cwd: string): Promise<Outcome> => run(join(command.path, 'node_modules/.bin/headrace'), args, { cwd })
const npm = (args: readonly string[], cwd: string): Promise<Outcome> => succeed('npm', args, { cwd, timeout: 170_000 })
const install = ['install', '--no-audit', '--no-fund', '--loglevel=error']

type Manifest = Record<'dependencies' | 'devDependencies', Record<string, string>>

/** What is not in the registry yet comes from the tarballs: npm wants that said in the manifest of who asks directly. */
async function takeTarballs(file: string): Promise<void> {
  const manifest = JSON.parse(await readFile(file, 'utf8')) as Manifest
  const all = tarballs()
  const direct = Object.keys(manifest.devDependencies).filter((name) => name in all)
  for (const name of direct) manifest.devDependencies[name] = all[name]!
  const overrides = Object.fromEntries(Object.entries(all).map(([name, tarball]) => [name, direct.includes(name) ? `$${name}` : tarball]))
  await writeFile(file, JSON.stringify({ ...manifest, overrides }, null, 2))
}

/** The tests that vitest says have passed. */
const passed = ({ stdout }: Outcome): number => Number(/Tests\s+(\d+) passed \(\1\)/.exec(stripVTControlCharacters(stdout))?.[1])

describe('a plugin that headrace create plugin made, outside of any workspace', () => {
  let folder: Folder
  let path: string

  beforeAll(async () => {
    folder = await Folder.empty()
    path = join(folder.path, 'headrace-plugin-runbook')
    const made = await headrace(['create', 'plugin', 'runbook'], folder.path)
    expect(made).toMatchObject({ code: 0, stdout: '  cd headrace-plugin-runbook\n  npm install\n  npm test\n' })
    await takeTarballs(join(path, 'package.json'))
    await npm(install, path)
  })
  afterAll(() => folder.remove())

  it('passes its tests as it was made', async () => {
    expect(passed(await npm(['test'], path))).toBeGreaterThan(10)
  })

  it('passes the compiler, sources and tests, under moduleResolution bundler', async () => {
    expect((await npm(['exec', '--', 'tsc', '--showConfig'], path)).stdout).toContain('"moduleResolution": "bundler"')
    await npm(['exec', '--', 'tsc'], path)
  })

  it('packs what was built, and who installs that can load it, with types under moduleResolution bundler', async () => {
    await npm(['pack', '--pack-destination', folder.path], path)
    const [tarball] = (await readdir(folder.path)).filter((name) => name.endsWith('.tgz'))
    const host = await Folder.with(['headrace'], { 'headrace-plugin-runbook': `file:${join(folder.path, tarball!)}` })
    try {
      expect((await readdir(join(host.path, 'node_modules/headrace-plugin-runbook'))).sort()).toEqual(['README.md', 'lib', 'package.json'])
      // As the README of what was made shows it.
      const [use] = blocksOf('README.md', await readFile(join(path, 'README.md'), 'utf8'))
      const source = `
        import { Context } from 'cordis'
        import headrace from 'headrace'
        const ctx = new Context()
        await ctx.plugin(headrace, { store: false, providers: false })
        ${use!.text}
        for (const { state } of ctx.registry.get(plugin)!.fibers) console.log(state, plugin.name)
        await ctx.fiber.dispose()
      `
      const file = await host.write('host.ts', source)
      const options = ['--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler', '--types', 'node', '--typeRoots', `${root}node_modules/@types`]
      expect(await run('node', [`${root}node_modules/typescript/bin/tsc`, ...options, file], { cwd: host.path })).toMatchObject({ code: 0, stdout: '' })
      expect(await run('node', ['host.js'], { cwd: host.path })).toEqual({ code: 0, stdout: '2 runbook\n', stderr: '' })
    } finally {
      await host.remove()
    }
  })
})

describe('a plugin that headrace create plugin made, in a folder of an npm workspace', () => {
  it('is installed, tested and compiled from its root', async () => {
    const folder = await Folder.empty()
    try {
      await folder.write('package.json', JSON.stringify({ name: 'root', private: true, workspaces: ['plugins/*'], overrides: tarballs() }))
      expect(await headrace(['create', 'plugin', '@acme/plugin-runbook', '--dir', 'plugins/runbook'], folder.path)).toMatchObject({ code: 0 })
      await npm(install, folder.path)
      expect(passed(await npm(['test', '--workspace', '@acme/plugin-runbook'], folder.path))).toBeGreaterThan(10)
      await npm(['run', 'check', '--workspace', '@acme/plugin-runbook'], folder.path)
    } finally {
      await folder.remove()
    }
  })
})
