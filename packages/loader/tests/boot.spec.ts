import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { check, lineOf } from '@headrace/loader'
import { Folder } from './folder.ts'

let folder: Folder
beforeEach(() => {
  folder = new Folder()
  expect(folder.words).toEqual([])
})
afterEach(() => folder.close())

describe('boot', () => {
  it('loads the entries of the file in their order, and stop() unloads them from the last to the first', async () => {
    folder.write('one.mjs', folder.plugin('one'))
    folder.write('two.mjs', folder.plugin('two'))
    folder.write('cordis.yml', '- id: one\n  name: ./one.mjs\n- id: two\n  name: ./two.mjs\n  config: { word: hi }\n')
    const loader = await folder.boot()
    expect(folder.words).toEqual(['+one', '+two:hi'])
    expect(loader.entries.map(({ id, name }) => [id, name])).toEqual([['one', './one.mjs'], ['two', './two.mjs']])
    await loader.stop()
    expect(folder.words).toEqual(['+one', '+two:hi', '-two', '-one'])
  })

  it('leaves out what is disabled, its module too', async () => {
    folder.write('cordis.yml', '- id: one\n  name: ./not-there.mjs\n  disabled: true\n  config: { key: "${NOT_SET}" }\n')
    expect((await folder.boot({ env: {} })).entries).toEqual([])
  })

  it('takes an entry without an id by its name', async () => {
    folder.write('one.mjs', folder.plugin('one'))
    folder.write('cordis.yml', '- name: ./one.mjs\n')
    expect((await folder.boot()).entries.map(({ id }) => id)).toEqual(['./one.mjs'])
  })

  it('names a plugin by the id of its entry where that is the plugin\'s own name and a word, and by no other id', async () => {
    const source = (name: string): string => `import { pluginOf } from ${JSON.stringify(import.meta.resolve('@headrace/cordis'))}
export const name = ${JSON.stringify(name)}
export async function apply(ctx) { globalThis[Symbol.for('loader.words')][${JSON.stringify(folder.path)}].push(pluginOf(ctx)) }
`
    folder.write('git.mjs', source('git'))
    folder.write('cordis.yml', ['git:work', 'git', 'other:work', 'http://git', 'x9f3k2', 'git:home'].map((id) => `- { id: "${id}", name: ./git.mjs }\n`).join(''))
    await folder.boot()
    expect(folder.words).toEqual(['git:work', 'git', 'git', 'git', 'git', 'git:home'])
  })

  it('refuses an id that is nearly of that form: its entry would sign as if it had none', async () => {
    folder.write('branch.mjs', folder.plugin('branch'))
    const ids = ['branch:a:b', 'branch:', ':work', 'branch: work', 'branch:my word', 'branch:a/b', 'Branch:work', 'brnch:work', ' branch:work', 'branch :work']
    const lines = await folder.refusal(ids.map((id) => `- { id: "${id}", name: ./branch.mjs }\n`).join(''))
    expect(lines).toEqual(ids.map((id, index) => expect.stringMatching(new RegExp(`:${index + 1}:\\d+: ${id}: an entry signs with an id of the form name:word, as in branch:work`)) as unknown))
    expect(folder.words).toEqual([])
  })

  it('starts nothing where anything of the file is wrong, and tells all of it', async () => {
    folder.write('one.mjs', folder.plugin('one'))
    expect(await folder.refusal('- id: one\n  name: ./one.mjs\n- id: two\n  name: ./tow.mjs\n- id: three\n  name: ./one.mjs\n  config: { a: "${NOT_SET}" }\n', { env: {} })).toEqual([
      'cordis.yml:4:3: two: there is no file ./tow.mjs',
      'cordis.yml:7:13: three: config.a: the variable NOT_SET is not set; set it, or write ${NOT_SET:-default}',
    ])
    expect(folder.words).toEqual([])
  })

  it('is refused where an entry does not run, each with why, and unloads what ran', async () => {
    folder.write('one.mjs', folder.plugin('one'))
    folder.write('waits.mjs', folder.plugin('waits', 'export const inject = ["clock", "moon"]'))
    folder.write('throws.mjs', 'export const name = "throws"\nexport async function apply() { throw new Error("no moon") }\n')
    folder.write('part.mjs', 'export const name = "part"\nexport async function apply(ctx) { ctx.plugin({ name: "inner", apply: async () => { throw new Error("no sun") } }) }\n')
    const yml = '- name: ./one.mjs\n- id: waits\n  name: ./waits.mjs\n- id: throws\n  name: ./throws.mjs\n- id: part\n  name: ./part.mjs\n'
    expect(await folder.refusal(yml)).toEqual([
      'cordis.yml:2:3: waits: waits for the service clock, moon, which nobody provides',
      'cordis.yml:4:3: throws: failed: no moon',
      'cordis.yml:6:3: part: failed in its part inner: no sun',
    ])
    expect(folder.words).toEqual(['+one', '-one'])
    expect(folder.ctx.registry.size).toBe(0)
  })

  it('quotes no value of a config that a plugin hands on to a part of its own', async () => {
    folder.write('set.mjs', `const Config = { '~standard': { validate: () => ({ issues: [{ path: ['store', 'fsync'], message: 'got sk-secret' }] }) } }
export const name = 'set'
export async function apply(ctx) { await ctx.plugin({ name: 'inner', Config, apply: async () => {} }, {}) }
`)
    expect(await folder.refusal('- id: set\n  name: ./set.mjs\n')).toEqual(['cordis.yml:1:3: set: failed: the config of a part of it does not fit, at store.fsync'])
  })

  it('boots with what runs where that is wanted, and reports the rest', async () => {
    folder.write('one.mjs', folder.plugin('one'))
    folder.write('waits.mjs', folder.plugin('waits', 'export const inject = ["clock"]'))
    folder.write('cordis.yml', '- id: waits\n  name: ./waits.mjs\n- id: one\n  name: ./one.mjs\n')
    await folder.boot({ partial: true })
    expect(folder.words).toEqual(['+one'])
    expect(folder.reports.filter(({ kind }) => kind === 'problem')).toEqual([{ kind: 'problem', entry: 'waits', message: `${folder.at('cordis.yml')}:1:3: waits: waits for the service clock, which nobody provides` }])
  })

  it('waits for a plugin whose service a later entry provides', async () => {
    folder.write('waits.mjs', folder.plugin('waits', 'export const inject = ["clock"]'))
    folder.write('clock.mjs', 'export const name = "clock"\nexport async function apply(ctx) { ctx.provide("clock", {}) }\n')
    folder.write('cordis.yml', '- name: ./waits.mjs\n- name: ./clock.mjs\n')
    await folder.boot()
    expect(folder.words).toEqual(['+waits'])
  })

  it('says which service a plugin may mean that nobody provides', async () => {
    folder.write('waits.mjs', folder.plugin('waits', 'export const inject = ["clok"]'))
    folder.write('clock.mjs', 'export const name = "clock"\nexport async function apply(ctx) { ctx.provide("clock", {}) }\n')
    expect(await folder.refusal('- name: ./clock.mjs\n- id: waits\n  name: ./waits.mjs\n')).toEqual(['cordis.yml:2:3: waits: waits for the service clok, which nobody provides; did you mean "clock"?'])
  })

  it('gives up on a plugin that never ends loading', async () => {
    folder.write('hangs.mjs', 'export const name = "hangs"\nexport async function apply() { await new Promise(() => {}) }\n')
    expect(await folder.refusal('- id: hangs\n  name: ./hangs.mjs\n', { timeout: 100 })).toEqual(['cordis.yml:1:3: hangs: did not come to an end of loading'])
  })

  it('gives up on a module that never ends loading', async () => {
    folder.write('hangs.mjs', 'await new Promise(() => {})\nexport const apply = async () => {}\n')
    const problem = 'cordis.yml:2:3: hangs: its module cannot be loaded: it took longer than 100 ms'
    expect(await folder.refusal('- id: hangs\n  name: ./hangs.mjs\n', { timeout: 100 })).toEqual([problem])
  })

  it('reads modules anew each time it is called', async () => {
    folder.write('one.mjs', folder.plugin('one'))
    folder.write('cordis.yml', '- name: ./one.mjs\n')
    await (await folder.boot()).stop()
    folder.write('one.mjs', folder.plugin('one b'))
    await (await folder.boot()).stop()
    folder.write('one.mjs', folder.plugin('one c'))
    await (await folder.boot()).stop()
    expect(folder.words).toEqual(['+one', '-one', '+one b', '-one b', '+one c', '-one c'])
  })

  it('may be called in a plugin, which takes the app with it', async () => {
    folder.write('one.mjs', folder.plugin('one'))
    folder.write('cordis.yml', '- name: ./one.mjs\n')
    const fiber = await folder.ctx.plugin({ name: 'host', apply: async (ctx) => void await (await import('@headrace/loader')).boot(ctx, { file: folder.at('cordis.yml') }) })
    expect(folder.words).toEqual(['+one'])
    await fiber.dispose()
    expect(folder.words).toEqual(['+one', '-one'])
  })
})

it('check gives the problems of an app, and starts nothing', async () => {
  folder.write('one.mjs', folder.plugin('one'))
  const lines = async (yml: string) => {
    folder.write('cordis.yml', yml)
    return (await check({ file: folder.at('cordis.yml'), env: {} })).map((problem) => lineOf(problem).replace(`${folder.path}/`, ''))
  }
  expect(await lines('- name: ./one.mjs\n')).toEqual([])
  expect(await lines('- name: ./one.mjs\n  config: "${NOT_SET}"\n')).toEqual(['cordis.yml:2:3: ./one.mjs: config: the variable NOT_SET is not set; set it, or write ${NOT_SET:-default}'])
  expect(await lines('- [\n')).toEqual([expect.stringMatching(/^cordis\.yml:2:1: /)])
  expect(folder.words).toEqual([])
})
