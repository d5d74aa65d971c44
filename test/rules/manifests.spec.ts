import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FORMAT } from '@headrace/session'
import { unbuilt } from '../../.config/built.mjs'
import { onlyReexports } from './imports.ts'
import { published, root, rootManifest } from './workspace.ts'

const versions = new Set(published.map(({ manifest }) => manifest.version))

describe.each(published.map((item) => [item.place, item] as const))('%s', (_, item) => {
  const { manifest, folder } = item

  it('is named after its folder', () => {
    const name = item.isPlugin ? `@headrace/plugin-${folder}` : folder === 'headrace' ? folder : `@headrace/${folder}`
    expect(manifest.name).toBe(name)
  })

  it('is ESM under MIT for Node from 20.19, free of side effects, in step with the others', () => {
    // The room for Cordis' insides notes names on fibers as soon as it is imported.
    const sideEffects = manifest.name === '@headrace/cordis' ? ['./lib/cordis.js'] : false
    expect(manifest).toMatchObject({ type: 'module', license: 'MIT', sideEffects, engines: { node: '>=20.19' } })
    expect(manifest.description).toMatch(/\.$/)
    expect(versions.size).toBe(1)
  })

  it('says whose it is and what it is about, as the others do', () => {
    expect(manifest.author).toBe(rootManifest.author)
    expect(readFileSync(`${root}LICENSE`, 'utf8')).toContain(manifest.author)
    expect(manifest.keywords).toEqual(expect.arrayContaining(['cordis', 'headrace', 'agent', 'llm']))
    expect(manifest.description!.length).toBeLessThan(120)
    // The root says where it is kept, once it is kept somewhere.
    const { repository, homepage, bugs } = rootManifest
    expect([manifest.repository, manifest.homepage, manifest.bugs]).toEqual([
      repository && { ...repository, directory: item.place },
      homepage,
      bugs,
    ])
  })

  it('exports a main entry, and each entry is a source file', () => {
    expect(Object.keys(manifest.exports ?? {})).toEqual(expect.arrayContaining(['.', './package.json']))
    for (const [entry, target] of Object.entries(manifest.exports ?? {})) {
      if (typeof target === 'string') expect(target).toBe(entry)
      else {
        expect(Object.keys(target)).toEqual(['types', 'default'])
        expect(target.types).toBe(target.default.replace(/\.js$/, '.d.ts'))
        expect([entry, item.has(target.default.replace(/^\.\/lib\/(.*)\.js$/, 'src/$1.ts'))]).toEqual([entry, true])
      }
    }
  })

  it('packs what was built and nothing else', () => {
    expect(manifest.files).toEqual([...manifest.bin ? ['bin'] : [], 'lib', '!lib/*.tsbuildinfo', ...item.has('templates') ? ['templates'] : []])
  })

  it('is not packed before it is compiled', () => {
    expect(manifest.scripts).toEqual({ prepack: 'node ../../.config/built.mjs' })
  })

  it('says in index.ts what is public, and nothing else', () => {
    expect(onlyReexports(item.text('src/index.ts'))).toBe(true)
  })

  it('has a README under its name', () => {
    expect(item.has('README.md') && item.text('README.md').startsWith(`# ${manifest.name}\n`)).toBe(true)
  })

  it('is built and tested with the workspace', () => {
    const { references } = JSON.parse(readFileSync(`${root}tsconfig.json`, 'utf8')) as { references: { path: string }[] }
    expect(references.map(({ path }) => path)).toContain(item.place)
    expect(rootManifest.devDependencies).toHaveProperty(manifest.name, 'workspace:*')
  })
})

describe.each(published.filter((item) => item.isPlugin).map((item) => [item.place, item] as const))('the plugin %s', (_, item) => {
  it('can be found as one', () => {
    expect(item.manifest.keywords).toEqual(expect.arrayContaining(['cordis', 'plugin', 'headrace']))
  })
})

describe('the top of the workspace', () => {
  it('holds what the house names', () => {
    const files = execFileSync('git', ['-c', 'safe.directory=*', 'ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
    const top = [...new Set(files.map((file) => file.replace(/\/.*/, '')))].filter((name) => !name.startsWith('.'))
    const house = ['CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'docs', 'examples', 'package.json', 'packages', 'plugins', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'test', 'tsconfig.json']
    expect(top.filter((name) => !house.includes(name))).toEqual([])
  })
})

describe('a package of which something is not compiled', () => {
  it('says what, so that it is not packed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headrace-unbuilt-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const write = (file: string) => (mkdirSync(dirname(join(folder, file)), { recursive: true }), writeFileSync(join(folder, file), ''))
    for (const file of ['src/index.ts', 'src/deep/a.ts', 'lib/deep/a.js', 'lib/deep/a.d.ts', 'lib/index.js']) write(file)
    expect(unbuilt(folder)).toEqual([join('lib', 'index.d.ts')])
    write('lib/index.d.ts')
    expect(unbuilt(folder)).toEqual([])
    rmSync(join(folder, 'lib'), { recursive: true })
    expect(unbuilt(folder)).toHaveLength(4)
  })
})

describe('a log', () => {
  it('names the version that wrote it', () => {
    expect(FORMAT.writer).toBe(`headrace/${[...versions].join()}`)
  })
})

describe('onlyReexports', () => {
  it.each([`export { a } from './a.ts'`, `export * from './a.ts'`, `import type {} from 'cordis'\nexport type { A } from './a.ts'`])('passes %s', (text) => {
    expect(onlyReexports(text)).toBe(true)
  })

  it.each([`export const a = 1`, `import { a } from './a.ts'\nexport { a }`, `export async function apply() {}`])('refuses %s', (text) => {
    expect(onlyReexports(text)).toBe(false)
  })
})
