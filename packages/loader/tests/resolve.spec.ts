import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { NotFound, resolveModule } from '../src/resolve.ts'
import { Folder } from './folder.ts'

let folder: Folder
beforeEach(() => {
  folder = new Folder()
  expect(folder.words).toEqual([])
})
afterEach(() => folder.close())

/** A package in the folder's node_modules. */
function install(name: string, manifest: object, files: Readonly<Record<string, string>>): void {
  folder.write(`node_modules/${name}/package.json`, JSON.stringify({ name, ...manifest }))
  for (const [file, text] of Object.entries(files)) folder.write(`node_modules/${name}/${file}`, text)
}

async function loads(name: string, file = 'cordis.yml'): Promise<readonly string[]> {
  folder.write(file, `- id: it\n  name: '${name}'\n`)
  const loader = await folder.boot({ file: folder.at(file) })
  await loader.stop()
  return folder.words.splice(0).filter((word) => word.startsWith('+'))
}

it('a package that can only be imported is found from the file\'s folder', async () => {
  install('esm-only', { type: 'module', exports: { import: './main.js' } }, { 'main.js': folder.plugin('esm') })
  expect(await loads('esm-only')).toEqual(['+esm'])
  expect(await loads('esm-only', 'deep/er/cordis.yml')).toEqual(['+esm'])
})

it('of a package with two faces the one of import is taken', async () => {
  install('both', { exports: { '.': { require: './main.cjs', types: './main.d.ts', default: './main.mjs' } } }, { 'main.cjs': 'throw new Error("required")', 'main.mjs': folder.plugin('imported') })
  expect(await loads('both')).toEqual(['+imported'])
})

it('subpaths, patterns, scopes, lists and packages without exports are found', async () => {
  const files = { 'a.mjs': folder.plugin('a'), 'lib/b.mjs': folder.plugin('b'), 'c.cjs': folder.plugin('c').replace(/export const name = (.*)/, 'exports.name = $1').replace('export async function apply', 'exports.apply = async function') }
  install('@s/many', { exports: { './a': ['./a.mjs'], './x/*': { import: './lib/*.mjs' }, './nope': null } }, files)
  install('old', { main: 'c.cjs' }, files)
  expect(await loads('@s/many/a')).toEqual(['+a'])
  expect(await loads('@s/many/x/b')).toEqual(['+b'])
  expect(await loads('old')).toEqual(['+c'])
  expect(await loads('old/lib/b.mjs')).toEqual(['+b'])
})

it('a path is from the file\'s folder; an absolute one and a file URL are as they are', async () => {
  folder.write('plugins/p.mjs', folder.plugin('p'))
  expect(await loads('./plugins/p.mjs')).toEqual(['+p'])
  expect(await loads('../plugins/p.mjs', 'deep/cordis.yml')).toEqual(['+p'])
  expect(await loads(folder.at('plugins/p.mjs'))).toEqual(['+p'])
  expect(await loads(`file://${folder.at('plugins/p.mjs')}`)).toEqual(['+p'])
})

it('a package that is not there is an error that says what is near', async () => {
  install('@s/plugin-clock', { exports: './main.mjs' }, { 'main.mjs': folder.plugin('clock') })
  install('built', { exports: './lib/index.js' }, {})
  install('@s/many', { exports: { './alpha': './a.mjs' } }, { 'a.mjs': folder.plugin('a') })
  const refusal = (name: string) => folder.refusal(`- name: '${name}'\n`)
  expect(await refusal('@s/plugin-clcok')).toEqual(['cordis.yml:1:3: @s/plugin-clcok: there is no package @s/plugin-clcok here; did you mean "@s/plugin-clock"?'])
  expect(await refusal('nothing-like-it')).toEqual(['cordis.yml:1:3: nothing-like-it: there is no package nothing-like-it here'])
  expect(await refusal('built')).toEqual(['cordis.yml:1:3: built: the package built exports no module; its file is not there: is it built?'])
  expect(await refusal('@s/many/alhpa')).toEqual(['cordis.yml:1:3: @s/many/alhpa: the package @s/many exports no ./alhpa; did you mean "@s/many/alpha"?'])
})

it('a file that is not there is an error that says what is near', async () => {
  folder.write('plugins/clock.mjs', folder.plugin('clock'))
  for (const name of ['./plugins/clcok.mjs', './plugins/clock', './plugins/clock.js']) {
    expect(await folder.refusal(`- name: ${name}\n`)).toEqual([`cordis.yml:1:3: ${name}: there is no file ${name}; did you mean "./plugins/clock.mjs"?`])
  }
  expect(await folder.refusal('- name: ./absent\n')).toEqual(['cordis.yml:1:3: ./absent: there is no file ./absent'])
})

it('a folder is an error that says which module of it is meant', async () => {
  folder.write('plugins/clock/clock.mjs', folder.plugin('clock'))
  folder.write('plugins/many/index.js', '')
  folder.write('plugins/many/other.js', '')
  const refusal = (name: string) => folder.refusal(`- name: ${name}\n`)
  expect(await refusal('./plugins/clock')).toEqual(['cordis.yml:1:3: ./plugins/clock: ./plugins/clock is a folder; name its module, "./plugins/clock/clock.mjs"'])
  expect(await refusal('./plugins/many/')).toEqual(['cordis.yml:1:3: ./plugins/many/: ./plugins/many/ is a folder; name its module, "./plugins/many/index.js"'])
  expect(await refusal('./plugins')).toEqual(['cordis.yml:1:3: ./plugins: ./plugins is a folder; name its module'])
})

it('a module that cannot be loaded, or is no plugin, is an error', async () => {
  folder.write('syntax.mjs', '\n\nexport const a = ;\n')
  folder.write('deep/parts.cjs', 'const a = 1\nconst a = 2\n')
  folder.write('parts.mjs', 'import "./deep/parts.cjs"\n')
  folder.write('lacks.mjs', 'import { moon } from "./throws.mjs"\n')
  folder.write('json.mjs', 'JSON.parse("{")\n')
  folder.write('throws.mjs', 'throw new Error("no moon")\n')
  folder.write('needs.mjs', 'import "not-installed"\n')
  folder.write('none.mjs', 'export const a = 1, b = 2\n')
  expect(await folder.refusal(['syntax', 'throws', 'needs', 'none', 'parts', 'lacks', 'json'].map((name) => `- name: ./${name}.mjs\n`).join(''))).toEqual([
    expect.stringMatching(/^cordis\.yml:1:3: \.\/syntax\.mjs: its module cannot be loaded: SyntaxError in \.\/syntax\.mjs:3: \w.*/),
    'cordis.yml:2:3: ./throws.mjs: its module cannot be loaded: no moon',
    expect.stringMatching(/^cordis\.yml:3:3: \.\/needs\.mjs: its module cannot be loaded: .*not-installed/),
    'cordis.yml:4:3: ./none.mjs: ./none.mjs exports no plugin: that is a default export that is a function or has apply(), or an export apply; it exports a, b',
    'cordis.yml:5:3: ./parts.mjs: its module cannot be loaded: SyntaxError in ./deep/parts.cjs:2: Identifier \'a\' has already been declared',
    expect.stringMatching(/^cordis\.yml:6:3: \.\/lacks\.mjs: its module cannot be loaded: SyntaxError in \.\/lacks\.mjs:1: .*'moon'/),
    expect.stringMatching(/^cordis\.yml:7:3: \.\/json\.mjs: its module cannot be loaded: SyntaxError: \w/),
  ])
})

it('a CommonJS module that throws, imported by a module of ES, is one error, and no rejection that ends the process', async () => {
  folder.write('throws.cjs', 'throw new Error("no moon")\n')
  folder.write('plugin.mjs', 'import "./throws.cjs"\n')
  folder.write('cordis.yml', '- name: ./plugin.mjs\n')
  const lib = new URL('../lib/index.js', import.meta.url).href
  const program = `import { check } from ${JSON.stringify(lib)}; for (const { message } of await check({ file: ${JSON.stringify(folder.at('cordis.yml'))} })) console.log(message); setTimeout(() => console.log('still here'), 50)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  expect(stdout.replaceAll(`${folder.path}/`, '')).toBe('its module cannot be loaded: no moon\nstill here\n')
})

it('a default export is taken, a function, a class or an object; one without a name goes by the id of its entry', async () => {
  const seen = `globalThis[Symbol.for('loader.words')][${JSON.stringify(folder.path)}].push('+' + ctx.fiber.name)`
  folder.write('arrow.mjs', `export default async (ctx) => { ${seen} }\n`)
  folder.write('class.mjs', `export default class Clock { constructor(ctx) { ${seen} } }\n`)
  folder.write('object.mjs', `export default { async apply(ctx) { ${seen} } }\nexport const apply = () => { throw new Error('not me') }\n`)
  folder.write('bare.mjs', `export async function apply(ctx) { ${seen} }\n`)
  folder.write('cordis.yml', ['arrow', 'class', 'object', 'bare'].map((name) => `- id: my-${name}\n  name: ./${name}.mjs\n`).join(''))
  await folder.boot()
  expect(folder.words).toEqual(['+my-arrow', '+Clock', '+my-object', '+my-bare'])
})

it('packages that the app\'s folder does not have are looked for from the fallbacks', async () => {
  folder.write('elsewhere/node_modules/shipped/package.json', '{ "name": "shipped", "exports": "./main.mjs" }')
  folder.write('elsewhere/node_modules/shipped/main.mjs', folder.plugin('shipped'))
  folder.write('cordis.yml', '- name: shipped\n')
  const fallbacks = [folder.at('elsewhere/index.js')]
  expect(await folder.refusal('- name: shiped\n', { fallbacks })).toEqual(['cordis.yml:1:3: shiped: there is no package shiped here; did you mean "shipped"?'])
  folder.write('cordis.yml', '- name: shipped\n')
  await folder.boot({ fallbacks })
  expect(folder.words).toEqual(['+shipped'])
})

const EXPORTS: readonly (readonly [string, unknown, string])[] = [
  ['a text', './a.mjs', '.'],
  ['a text, asked for another subpath', './a.mjs', './a.mjs'],
  ['conditions in their order', { require: './b.mjs', import: './a.mjs', default: './b.mjs' }, '.'],
  ['a condition that leads to nothing, and the next', { '.': { node: { require: './b.mjs' }, default: './a.mjs' } }, '.'],
  ['null under a condition that matches', { '.': { node: null, default: './a.mjs' } }, '.'],
  ['a list', ['a.mjs', './a.mjs', './b.mjs'], '.'],
  ['a list whose first file is not there', ['./gone.mjs', './a.mjs'], '.'],
  ['a list with conditions', [{ require: './b.mjs' }, './a.mjs'], '.'],
  ['a pattern', { './x/*': './lib/*.mjs' }, './x/c'],
  ['a pattern with an end', { './x/*.js': './lib/*.mjs' }, './x/c.js'],
  ['a pattern with a star twice', { './x/*': './*/*.mjs' }, './x/lib'],
  ['the pattern with the longest front, not the longest', { './*/very/long.js': './b.mjs', './x/*': './lib/*.mjs' }, './x/very/long.js'],
  ['a pattern over folders', { './x/*': './lib/*.mjs' }, './x/deep/d'],
  ['a pattern that takes nothing', { './x/*': './lib/*.mjs' }, './x/'],
  ['a pattern taken back', { './x/*': './lib/*.mjs', './x/deep/*': null }, './x/deep/d'],
  ['a folder as Node 16 had it', { './x/': './lib/' }, './x/c.mjs'],
  ['a place outside of the package', { '.': '../other/a.mjs' }, '.'],
  ['a place that does not begin with ./', { '.': 'a.mjs' }, '.'],
  ['keys that mix subpaths and conditions', { '.': './a.mjs', import: './b.mjs' }, '.'],
  ['an empty table', {}, '.'],
  ['false', { '.': false }, '.'],
  ['a key of every object', { './constructor': './a.mjs' }, './toString'],
  ['module-sync', { 'module-sync': './a.mjs', default: './b.mjs' }, '.'],
  ['no exports, a file without its ending', undefined, './a'],
  ['no exports, a folder', undefined, './lib'],
  ['no exports, a file', undefined, './lib/c.mjs'],
  ['no exports, null', null, './lib/c.mjs'],
]

it('gives the same answer as Node for each kind of exports', async () => {
  const files = ['a.mjs', 'b.mjs', 'lib/c.mjs', 'lib/lib.mjs', 'lib/deep/d.mjs', 'lib/very/long.js.mjs']
  for (const [index, [, exports]] of EXPORTS.entries()) install(`p${index}`, { ...(exports !== undefined && { exports }) }, Object.fromEntries(files.map((file) => [file, ''])))
  const names = EXPORTS.map(([, , subpath], index) => `p${index}${subpath.slice(1)}`)
  // What Node itself says, from a module of the folder.
  folder.write('ask.mjs', `import { statSync } from 'node:fs'
const answer = (name) => { try { const url = import.meta.resolve(name); return statSync(new URL(url)).isFile() ? url : undefined } catch { return undefined } }
console.log(JSON.stringify(${JSON.stringify(names)}.map((name) => answer(name) ?? null)))`)
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-deprecation', folder.at('ask.mjs')])
  const ours = names.map((name) => {
    try {
      return resolveModule(name, folder.at('cordis.yml'))
    } catch (error) {
      expect(error).toBeInstanceOf(NotFound)
      expect((error as Error).message).not.toContain('\n')
      return null
    }
  })
  const told = (urls: readonly (string | null)[]) => Object.fromEntries(urls.map((url, index) => [EXPORTS[index]![0], url]))
  expect(told(ours)).toEqual(told(JSON.parse(stdout) as (string | null)[]))
  expect(ours.filter((url) => url !== null).length).toBeGreaterThan(10)
})

it('a package finds itself by its own name, as in Node, and a built-in module is no package', () => {
  folder.write('package.json', JSON.stringify({ name: 'myself', exports: './a.mjs' }))
  folder.write('a.mjs', '')
  folder.write('deep/package.json', '{}')
  expect(resolveModule('myself', folder.at('cordis.yml'))).toBe(`file://${folder.at('a.mjs')}`)
  expect(() => resolveModule('myself', folder.at('deep/cordis.yml'))).toThrow(NotFound)
  for (const name of ['fs', 'node:fs', 'https://example.org/plugin.js', '#own']) expect(() => resolveModule(name, folder.at('cordis.yml'))).toThrow(NotFound)
})

it('a package that is installed while the app runs is found', () => {
  expect(() => resolveModule('late', folder.at('cordis.yml'))).toThrow('there is no package late here')
  install('late', { exports: './a.mjs' }, { 'a.mjs': '' })
  expect(resolveModule('late', folder.at('cordis.yml'))).toBe(`file://${folder.at('node_modules/late/a.mjs')}`)
})
