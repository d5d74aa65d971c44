import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { wrongImport } from './floors.ts'
import { importsIn, packageOf } from './imports.ts'
import { catalog, published, rootManifest } from './workspace.ts'

const CORDIS = '4.0.0-rc.10'
/** Carry every plugin, or every test: they are imported where they are needed. */
const anywhere = new Set(['cordis', 'schemastery', 'vitest'])
const distinct = <T>(values: Iterable<T>): T[] => [...new Set(values)]
const isOurs = (name: string) => /^(@headrace\/|headrace$)/.test(name)

describe.each(published.map((item) => [item.place, item] as const))('%s', (_, item) => {
  const { name, dependencies = {}, devDependencies = {}, peerDependencies = {} } = item.manifest
  const sources = item.imports('src')
  const imported = distinct(
    sources.map(({ specifier }) => packageOf(specifier)).filter((found) => found !== undefined && found !== name),
  ) as string[]
  const importedByTests = item.imports('tests').map(({ specifier }) => packageOf(specifier)).filter((found) => found !== undefined)
  const declared = { ...dependencies, ...peerDependencies }

  it('imports only from floors below it', () => {
    expect(imported.map((other) => wrongImport(name, other)).filter(Boolean)).toEqual([])
  })

  it('imports its own files by their place, and files of no other package', () => {
    expect(sources.filter(({ specifier }) => packageOf(specifier) === name || /^\.\.\/.*\b(src|lib)\//.test(specifier))).toEqual([])
  })

  it('declares what its sources import', () => {
    expect(imported.filter((other) => !(other in declared))).toEqual([])
  })

  it('declares what its tests import, or the workspace does', () => {
    const known = { ...declared, ...devDependencies, ...rootManifest.devDependencies, [name]: '' }
    expect(importedByTests.filter((other) => !(other in known))).toEqual([])
  })

  it('imports what it declares, or needs it as the peer of what it imports', () => {
    const peers = imported.flatMap((other) => item.peersOf(other))
    expect(Object.keys(declared).filter((other) => ![...imported, ...peers].includes(other))).toEqual([])
  })

  it('declares for development only its peers and what its tests import', () => {
    const needed = [...importedByTests, ...Object.keys(peerDependencies), ...imported.map((other) => `@types/${other}`)]
    expect(Object.keys(devDependencies).filter((other) => !needed.includes(other))).toEqual([])
  })

  it('imports a dependency of others in one file; types may be anywhere', () => {
    const values = sources.filter(({ typeOnly }) => !typeOnly)
    const others = imported.filter((other) => !isOurs(other) && !anywhere.has(other))
    const files = others.map((other) => [
      other,
      distinct(values.filter(({ specifier }) => packageOf(specifier) === other).map(({ file }) => file)),
    ])
    expect(files.filter(([, list]) => list!.length > 1)).toEqual([])
  })

  it('is built after every package of ours that it imports', () => {
    const { references = [] } = item.json('tsconfig.json') as { references?: { path: string }[] }
    const built = references.map(({ path }) => join(item.place, path))
    expect(
      published
        .filter((other) => imported.includes(other.manifest.name) && !built.includes(other.place))
        .map(({ place }) => place),
    ).toEqual([])
  })

  it(`takes cordis as a peer from ^${CORDIS}, and versions that the workspace shares from its catalog`, () => {
    expect(dependencies).not.toHaveProperty('cordis')
    if (item.isPlugin || imported.includes('cordis')) expect([peerDependencies.cordis, devDependencies.cordis]).toEqual([`^${CORDIS}`, 'catalog:'])
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(([other, version]) => other in catalog() && version !== 'catalog:')
    expect(loose).toEqual([])
  })

  it('takes packages of ours from the workspace', () => {
    expect(Object.entries({ ...dependencies, ...devDependencies }).filter(([other, version]) => isOurs(other) && version !== 'workspace:^')).toEqual([])
  })
})

describe('the workspace', () => {
  it('pins cordis, which a caret would move between release candidates', () => {
    expect(catalog()).toMatchObject({ cordis: CORDIS, schemastery: expect.stringMatching(/^3\.18\./), eventemitter3: expect.stringMatching(/^5\./) })
  })
})

describe('wrongImport', () => {
  it.each([
    ['@headrace/message', '@headrace/session'],
    ['@headrace/files', '@headrace/session'],
    ['@headrace/session', '@headrace/agent'],
    ['@headrace/run-context', '@headrace/tokens'],
    ['@headrace/agent', '@headrace/briefing'],
    ['@headrace/agent', '@headrace/plugin-ai-sdk'],
    ['@headrace/testing', '@headrace/plugin-store-jsonl'],
    ['@headrace/plugin-skills', '@headrace/plugin-agents-md'],
    ['@headrace/plugin-skills', '@headrace/testing'],
    ['@headrace/plugin-ai-sdk', 'headrace'],
    ['@headrace/elsewhere', '@headrace/message'],
  ])('refuses that %s imports %s', (from, to) => expect(wrongImport(from, to)).toContain(from))

  it.each([
    ['@headrace/session', '@headrace/message'],
    ['@headrace/files', '@headrace/message'],
    ['@headrace/plugin-skills', '@headrace/files'],
    ['@headrace/agent', '@headrace/tokens'],
    ['@headrace/plugin-skills', '@headrace/briefing'],
    ['@headrace/testing', '@headrace/model-server'],
    ['headrace', '@headrace/plugin-ai-sdk'],
    ['@headrace/message', 'cordis'],
  ])('lets %s import %s', (from, to) => expect(wrongImport(from, to)).toBeUndefined())
})

describe('importsIn', () => {
  it.each([
    [`import a from 'x'`, false],
    [`import 'x'`, false],
    [`import { type A } from 'x'`, false],
    [`import type { A } from 'x'`, true],
    [`export * from 'x'`, false],
    [`export type { A } from 'x'`, true],
    [`const load = async () => { await import('x') }`, false],
    [`type A = import('x').A`, true],
  ])('finds %s', (text, typeOnly) => expect(importsIn('a.ts', text)).toEqual([{ file: 'a.ts', specifier: 'x', typeOnly }]))

  it('finds nothing in comments and strings', () => {
    expect(importsIn('a.ts', `// import 'x'\nconst text = "import 'x'"`)).toEqual([])
  })
})
