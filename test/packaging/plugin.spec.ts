import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
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

/** As the command prints it, with the folder of this run. */
const noSave = async (path: string): Promise<void> => {
  const folder = inject('tarballs')
  const files = (await readdir(folder)).filter((name) => name.endsWith('.tgz')).map((name) => join(folder, name))
  await npm([...install, '--no-save', ...files], path)
}

/** The tests that vitest says have passed. */
const passed = ({ stdout }: Outcome): number => Number(/Tests\s+(\d+) passed \(\1\)/.exec(stripVTControlCharacters(stdout))?.[1])

describe('a plugin that headrace create plugin made, outside of any workspace', () => {
  let folder: Folder
  let path: string
  let manifest: string

  beforeAll(async () => {
    folder = await Folder.empty()
    path = join(folder.path, 'headrace-plugin-runbook')
    const made = await headrace(['create', 'plugin', 'runbook'], folder.path)
    expect(made).toMatchObject({ code: 0, stdout: '  cd headrace-plugin-runbook\n  npm i --no-save /tmp/headrace/*.tgz\n  npm test\n' })
    manifest = await readFile(join(path, 'package.json'), 'utf8')
    await noSave(path)
  })
  afterAll(() => folder.remove())

  it('has its package.json as it was made', async () => {
    expect(await readFile(join(path, 'package.json'), 'utf8')).toBe(manifest)
  })

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
      const options = ['--strict', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler', '--types', 'node', '--typeRoots', `${root}node_modules/@types`]
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
