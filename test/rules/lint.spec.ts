import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import javascript from '@eslint/js'
import typescript from 'typescript-eslint'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import headrace, { inSources } from '../../.config/lint-rules.mjs'
import config from '../../.oxlint.mjs'
import { snippets } from './snippets.ts'

// What `npm run lint` runs, on a workspace that has one file for each snippet, with our config at its root.

const root = fileURLToPath(new URL('../..', import.meta.url))
const names = Object.keys(headrace.rules)

/** What breaks rules that are not ours, and by which name they say so. */
const BROKEN: Readonly<Record<string, string>> = {
  'eslint(no-cond-assign)': 'let a = 1\nif (a = 2) throw new Error(`${a}`)\n',
  'eslint(eqeqeq)': 'export const b = process.argv[2] == process.argv[3]\n',
  'eslint(no-unused-vars)': 'const c = 1\n',
  'typescript(no-explicit-any)': 'export let d: any\n',
  'typescript(no-floating-promises)': 'export function e(): void { Promise.resolve() }\n',
  'typescript(await-thenable)': 'export const f = await 1\n',
  'typescript(consistent-type-imports)': `import { Stats } from 'node:fs'\nexport type G = Stats\n`,
  '@stylistic(semi)': 'export const h = 1;\n',
  '@stylistic(quotes)': 'export const i = "i"\n',
  '@stylistic(max-len)': `export const j = 1 ${'+ 1 '.repeat(50)}\n`,
  '@stylistic(eol-last)': 'export const k = 1',
}
/** The same, of those that sources have alone. */
const BROKEN_IN_SOURCES: Readonly<Record<string, string>> = {
  'eslint(no-console)': `console.log('l')\n`,
  'eslint(max-lines)': 'export {}\n'.repeat(301),
  'eslint(max-lines-per-function)': `export function m(): void {\n${`  process.exitCode = 1\n`.repeat(60)}}\n`,
  'typescript(no-misused-promises)': 'export const n = (list: number[]): void => list.forEach(async () => { await Promise.resolve() })\n',
  'typescript(no-unsafe-call)': 'export const o: unknown = JSON.parse(`p`).q()\n',
}
const PLACES = { 'a source': 'packages/example/src', 'a test of a package': 'packages/example/tests', 'a law': 'test/laws' }

let folder: string
let reports: ReadonlyMap<string, readonly string[]>

const kinds = names.flatMap((name) => (['bad', 'good'] as const).map((kind) => ({ name, kind, texts: snippets[name]?.[kind] ?? [] })))
/** Where the snippet stands that is looked at alone, by every rule of ours. */
const pathOf = (name: string, kind: 'bad' | 'good', index: number): string => `alone/${name}-${kind}-${index}.ts`

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
}

interface Report {
  readonly code?: string
  readonly message: string
  readonly filename: string
}

/** The names of what is reported, by file. */
async function lint(): Promise<ReadonlyMap<string, readonly string[]>> {
  const oxlint = join(root, 'node_modules/oxlint/bin/oxlint')
  const output = await promisify(execFile)(process.execPath, [oxlint, '--config', '.oxlint.mjs', '--format', 'json'], { cwd: folder, maxBuffer: 1e8 })
    .then(({ stdout }) => stdout, (error: { stdout: string }) => error.stdout)
  const found = new Map<string, string[]>()
  for (const { code, message, filename } of (JSON.parse(output) as { diagnostics: readonly Report[] }).diagnostics) {
    found.set(filename, [...found.get(filename) ?? [], code ?? message])
  }
  return found
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headrace-lint-'))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await put('.oxlint.mjs', [
    `import config from ${JSON.stringify(new URL('../../.oxlint.mjs', import.meta.url).href)}`,
    `const ours = ${JSON.stringify(Object.fromEntries(names.map((name) => [`headrace/${name}`, 'error'])))}`,
    `const none = Object.fromEntries(config.overrides.flatMap(({ rules }) => Object.keys(rules)).concat(Object.keys(config.rules)).map((name) => [name, 'off']))`,
    `export default { ...config, overrides: [...config.overrides, { files: ['alone/**'], rules: { ...none, ...ours } }] }`,
  ].join('\n'))
  for (const { name, kind, texts } of kinds) for (const [index, text] of texts.entries()) await put(pathOf(name, kind, index), text)
  for (const place of Object.values(PLACES)) {
    for (const { name, kind, texts } of kinds) {
      if (kind === 'bad') await put(`${place}/${name}.ts`, texts[0]!)
    }
    for (const [index, text] of Object.values({ ...BROKEN, ...BROKEN_IN_SOURCES }).entries()) await put(`${place}/broken-${index}.ts`, text)
  }
  reports = await lint()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe.each(names)('headrace/%s', (name) => {
  const { bad, good } = snippets[name] ?? { bad: [], good: [] }

  it('has snippets of both kinds', () => expect([bad.length, good.length].every((count) => count > 0)).toBe(true))
  it.each(bad.map((text, index) => [text, index] as const))('reports %s', (_, index) => {
    expect(reports.get(pathOf(name, 'bad', index))).toContain(`headrace(${name})`)
  })
  it.each(good.map((text, index) => [text, index] as const))('passes %s', (_, index) => {
    expect(reports.get(pathOf(name, 'good', index)) ?? []).toEqual([])
  })
})

describe('the rules that are on', () => {
  const everywhere = Object.keys(BROKEN)
  const brokenIn = (place: string): readonly string[] => Object.entries({ ...BROKEN, ...BROKEN_IN_SOURCES })
    .filter(([name], index) => reports.get(`${place}/broken-${index}.ts`)?.includes(name)).map(([name]) => name)
  const oursIn = (place: string): readonly string[] => names.filter((name) => reports.get(`${place}/${name}.ts`)?.includes(`headrace(${name})`))

  it('in sources, are all of ours but those for tests, and those of the house', () => {
    expect(names.filter((name) => !(`headrace/${name}` in inSources))).toEqual(['every-test-runs', 'no-sleep', 'no-clock', 'no-short-timeout'])
    expect(oursIn(PLACES['a source'])).toEqual(names.filter((name) => `headrace/${name}` in inSources))
    expect(brokenIn(PLACES['a source'])).toEqual([...everywhere, ...Object.keys(BROKEN_IN_SOURCES)])
  })

  it.each([PLACES['a test of a package'], PLACES['a law']])('in %s, are all of ours but that on loading', (place) => {
    expect(oursIn(place)).toEqual(names.filter((name) => name !== 'unawaited-plugin'))
    expect(brokenIn(place)).toEqual(everywhere)
  })

  it('are all that ESLint and typescript-eslint recommend, but those that the config turns off by name', () => {
    const lists = [javascript.configs.recommended, ...typescript.configs.recommendedTypeChecked].map(({ rules }) => rules ?? {})
    const recommended = Object.entries(Object.assign({}, ...lists) as Record<string, unknown>).filter(([, level]) => level !== 'off')
    const on: Record<string, unknown> = { ...config.rules, ...config.overrides[0]!.rules }
    const missing = recommended.map(([name]) => name.replace('@typescript-eslint/', 'typescript/'))
      .filter((name) => on[name] === undefined || on[name] === 'off')
    const left = ['no-redundant-type-constituents', 'no-unsafe-enum-comparison', 'require-await', 'unbound-method']
    expect(missing.sort()).toEqual(['no-octal', ...left.map((name) => `typescript/${name}`)])
  })
})
