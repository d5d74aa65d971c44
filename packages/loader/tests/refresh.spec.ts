import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Context } from 'cordis'
import type { Loader } from '@headrace/loader'
import { Folder } from './folder.ts'

let folder: Folder
beforeEach(() => {
  folder = new Folder()
  expect(folder.words).toEqual([])
  for (const name of ['one', 'two', 'three']) folder.write(`${name}.mjs`, folder.plugin(name))
})
afterEach(() => folder.close())

/** The app with these entries: `two` or `two: hi`, which is its config. */
function app(...entries: string[]): void {
  const lines = entries.map((entry) => {
    const [id, word] = entry.split(': ')
    return `- id: ${id}\n  name: ./${id}.mjs\n${word === undefined ? '' : `  config: { word: ${word} }\n`}`
  })
  folder.write('cordis.yml', lines.join(''))
}

async function booted(...entries: string[]): Promise<Loader> {
  app(...entries)
  const loader = await folder.boot()
  folder.words.length = 0
  folder.reports.length = 0
  return loader
}

const problems = () => folder.reports.filter(({ kind }) => kind === 'problem').map(({ message }) => message.replaceAll(`${folder.path}/`, ''))
interface Bus {
  on(event: string, listener: (said: string[]) => void): void
  parallel(event: string, said: string[]): Promise<void>
}

const changes = () => folder.reports.filter(({ kind }) => kind === 'changed').map(({ entry, message }) => `${entry} ${message}`)

describe('a change of the file', () => {
  it('of a config restarts that entry and no other', async () => {
    const loader = await booted('one', 'two: hi')
    app('one', 'two: ho')
    await loader.refresh()
    expect(folder.words).toEqual(['-two', '+two:ho'])
    expect(changes()).toEqual(['two updated'])
  })

  it('removes what is gone or disabled, adds what is new, and leaves the rest alone', async () => {
    const loader = await booted('one', 'two')
    app('three', 'two')
    await loader.refresh()
    expect(folder.words).toEqual(['-one', '+three'])
    expect(loader.entries.map(({ id }) => id)).toEqual(['three', 'two'])
    folder.write('cordis.yml', '- id: three\n  name: ./three.mjs\n  disabled: true\n- id: two\n  name: ./two.mjs\n')
    await loader.refresh()
    expect(folder.words.slice(2)).toEqual(['-three'])
    expect(changes()).toEqual(['one removed', 'three loaded', 'three removed'])
  })

  it('of a name puts the other plugin in its place', async () => {
    const loader = await booted('one', 'two')
    folder.write('cordis.yml', '- id: one\n  name: ./three.mjs\n- id: two\n  name: ./two.mjs\n')
    await loader.refresh()
    expect(folder.words).toEqual(['-one', '+three'])
  })

  it('that is none does nothing', async () => {
    const loader = await booted('one: hi', 'two')
    folder.write('cordis.yml', `# A note.\n${'- id: one\n  name: ./one.mjs\n  config:\n    word: "hi"\n- { id: two, name: ./two.mjs }\n'}`)
    await loader.refresh()
    expect([folder.words, folder.reports]).toEqual([[], []])
  })

  it.each([
    ['no YAML', '- id: [\n', /^cordis\.yml:2:1: /],
    ['no list', 'a: 1\n', /^cordis\.yml:1:1: an app is a list/],
    ['an empty file', '', /^cordis\.yml:1:1: an app is a list/],
    ['two of an id', '- { id: a, name: ./one.mjs }\n- { id: a, name: ./one.mjs }\n', /^cordis\.yml:2:5: a: the entry in line 1/],
  ])('to %s is reported once, and the app runs on', async (_, text, problem) => {
    const loader = await booted('one', 'two')
    folder.write('cordis.yml', text)
    await loader.refresh()
    await loader.refresh()
    expect(problems()).toEqual([expect.stringMatching(problem)])
    expect(folder.words).toEqual([])
    app('one')
    await loader.refresh()
    expect(folder.words).toEqual(['-two'])
  })

  it('that takes the file away is reported, and the app runs on', async () => {
    const loader = await booted('one')
    folder.writeByRename('elsewhere.yml', '')
    const { rmSync } = await import('node:fs')
    rmSync(folder.at('cordis.yml'))
    await loader.refresh()
    expect(problems()).toEqual(['cordis.yml:1:1: there is no such file'])
    expect(folder.words).toEqual([])
  })

  it('with one wrong entry leaves that one as it was, and does the rest', async () => {
    const loader = await booted('one: hi', 'two: hi')
    folder.write('cordis.yml', '- id: one\n  name: ./absent.mjs\n- id: two\n  name: ./two.mjs\n  config: { word: ho }\n')
    await loader.refresh()
    expect(folder.words).toEqual(['-two', '+two:ho'])
    expect(problems()).toEqual(['cordis.yml:2:3: one: there is no file ./absent.mjs'])
    expect(loader.entries.map(({ id }) => id)).toEqual(['one', 'two'])
  })

  it('that a plugin fails with is taken back, and made when the file says something else', async () => {
    folder.write('picky.mjs', folder.plugin('picky').replace('words.push', 'if (config?.word === "bad") throw new Error("not that")\n  words.push'))
    const loader = await booted('picky: good')
    app('picky: bad')
    await loader.refresh()
    expect(folder.words).toEqual(['-picky', '+picky:good'])
    expect(problems()).toEqual(['cordis.yml:1:3: picky: its new version failed: not that; the one before runs again'])
    app('picky: better')
    await loader.refresh()
    expect(folder.words.slice(2)).toEqual(['-picky', '+picky:better'])
  })
})

describe('a change of a module of the app\'s own', () => {
  it('loads the new one in the place of the old one', async () => {
    const loader = await booted('one: hi', 'two')
    folder.write('one.mjs', folder.plugin('one again'))
    await loader.refresh()
    expect(folder.words).toEqual(['-one', '+one again:hi'])
    expect(changes()).toEqual(['one reloaded'])
    folder.write('one.mjs', folder.plugin('one thrice'))
    await loader.refresh()
    expect(folder.words.slice(2)).toEqual(['-one again', '+one thrice:hi'])
  })

  it('to what cannot be loaded, or whose config does not fit, is reported, and the old one runs on', async () => {
    const loader = await booted('one: hi')
    folder.write('one.mjs', 'export const a = ;\n')
    await loader.refresh()
    folder.write('one.mjs', folder.plugin('one', 'export const Config = { "~standard": { validate: () => ({ issues: [{ path: ["word"], message: "hi" }] }) } }'))
    await loader.refresh()
    expect(folder.words).toEqual([])
    expect(problems()).toEqual([
      expect.stringMatching(/^cordis\.yml:2:3: one: its module cannot be loaded: SyntaxError in \.\/one\.mjs:1: /),
      'cordis.yml:3:13: one: config.word: does not fit; it is a text',
    ])
    folder.write('one.mjs', folder.plugin('one healed'))
    await loader.refresh()
    expect(folder.words).toEqual(['-one', '+one healed:hi'])
  })

  it('that fails as it loads gives way to the old one', async () => {
    const loader = await booted('one')
    folder.write('one.mjs', 'export const name = "one"\nexport async function apply() { throw new Error("no moon") }\n')
    await loader.refresh()
    expect(folder.words).toEqual(['-one', '+one'])
    expect(problems()).toEqual(['cordis.yml:1:3: one: its new version failed: no moon; the one before runs again'])
  })

  it('is seen in the files beside it that it imports, however deep; packages and files of others stay', async () => {
    folder.write('node_modules/dep/package.json', '{ "name": "dep", "type": "module", "exports": "./i.js" }')
    folder.write('node_modules/dep/i.js', 'globalThis[Symbol.for("loader.count")] = (globalThis[Symbol.for("loader.count")] ?? 0) + 1\nexport const dep = "dep"\n')
    folder.write('deep/words.mjs', 'import { dep } from "dep"\nexport const word = `one ${dep}`\n')
    folder.write('deep/index.mjs', 'export * from "./words.mjs"\n')
    folder.write('one.mjs', folder.plugin('X').replace('"+X"', '"+" + word').replace(/^/, 'import { word } from "./deep/index.mjs"\n'))
    app('one', 'two')
    const loader = await folder.boot()
    for (const word of ['two', 'three']) {
      folder.write('deep/words.mjs', `import { dep } from "dep"\nexport const word = \`${word} \${dep}\`\n`)
      await loader.refresh()
      await loader.refresh()
    }
    expect(folder.words).toEqual(['+one dep', '+two', '-X', '+two dep', '-X', '+three dep'])
    expect((globalThis as Record<symbol, unknown>)[Symbol.for('loader.count')]).toBe(1)
    folder.write('deep/words.mjs', 'export const word = ;\n')
    await loader.refresh()
    expect(problems()).toEqual([expect.stringMatching(/^cordis\.yml:2:3: one: its module cannot be loaded: SyntaxError in \.\/deep\/words\.mjs:1: /)])
    expect(folder.words).toHaveLength(6)
  })

  it('is seen in CommonJS too, and in what it requires', async () => {
    const cjs = (word: string) => folder.plugin(word).replace(/export const name = (.*)/, 'exports.name = $1').replace('export async function apply', 'exports.apply = async function')
    folder.write('c.cjs', cjs('c'))
    folder.write('cordis.yml', '- name: ./c.cjs\n')
    const loader = await folder.boot()
    folder.write('d.cjs', 'exports.word = "d"')
    folder.write('c.cjs', `const { word } = require('./d.cjs')\n${cjs('c2').replace('"+c2"', '"+c2" + word')}`)
    await loader.refresh()
    folder.write('d.cjs', 'exports.word = "e"')
    await loader.refresh()
    expect(folder.words).toEqual(['+c', '-c', '+c2d', '-c2', '+c2e'])
  })

  it('restarts who uses its service, and says where that one does not run any more', async () => {
    folder.write('one.mjs', 'export const name = "one"\nexport async function apply(ctx) { ctx.provide("clock", { now: 1 }) }\n')
    folder.write('two.mjs', folder.plugin('two', 'export const inject = ["clock"]'))
    const loader = await booted('one', 'two')
    folder.write('one.mjs', 'export const name = "one"\nexport async function apply(ctx) { ctx.provide("clock", { now: 2 }) }\n')
    await loader.refresh()
    expect(folder.words).toEqual(['-two', '+two'])
    folder.write('one.mjs', 'export const name = "one"\nexport async function apply() {}\n')
    await loader.refresh()
    expect(folder.words.slice(2)).toEqual(['-two'])
    expect(problems()).toEqual(['cordis.yml:3:3: two: waits for the service clock, which nobody provides'])
  })
})

it('listeners stand in the order of the file, whatever was loaded again; those of others keep their place', async () => {
  const listen = (name: string) => `export const name = ${JSON.stringify(name)}
export async function apply(ctx) {
  ctx.on('test/order', (said) => void said.push(${JSON.stringify(name)}))
  ctx.on('test/order', (said) => void said.push(${JSON.stringify(`first ${name}`)}), { prepend: true })
  await ctx.plugin({ name: 'inner', apply: async (inner) => void inner.on('test/order', (said) => void said.push(${JSON.stringify(`below ${name}`)})) })
}
`
  const names = ['one', 'two', 'three']
  for (const name of names) folder.write(`${name}.mjs`, listen(name))
  const context = folder.ctx as unknown as Bus
  context.on('test/order', (said) => void said.push('app'))
  const loader = await booted('one', 'three')
  context.on('test/order', (said) => void said.push('late app'))
  const order = async () => {
    const said: string[] = []
    await context.parallel('test/order', said)
    return said
  }
  folder.write('one.mjs', `${listen('one')}// saved\n`)
  app('one', 'two', 'three')
  await loader.refresh()
  // The app's own listener came between them, and keeps its place.
  expect((await order()).filter((word) => !word.endsWith('app'))).toEqual(['first three', 'first two', 'first one', ...names.flatMap((name) => [name, `below ${name}`])])
  expect((await order()).indexOf('app')).toBe(3)
})

it('what is asked for at once is done one after another', async () => {
  folder.write('slow.mjs', folder.slow('slow'))
  const loader = await booted('slow: a')
  app('slow: b')
  const held = folder.hold()
  const first = loader.refresh()
  await expect.poll(() => folder.words).toEqual(['-slow'])
  app('slow: c')
  const others = [loader.refresh(), loader.refresh()]
  held.open()
  await Promise.all([first, ...others])
  await loader.stop()
  await loader.refresh()
  expect(folder.words).toEqual(['-slow', '+slow:b', '-slow', '+slow:c', '-slow'])
})

it('a listener of reports that throws harms nobody', async () => {
  const loader = await booted('one')
  folder.ctx.on('loader/report', () => { throw new Error('mine') })
  app('one', 'two')
  await loader.refresh()
  expect(folder.words).toEqual(['+two'])
  expect((folder.ctx as Context).logger.buffer.some(({ args }) => args.join(' ').includes('mine'))).toBe(true)
})

describe('watch', () => {
  it('misses nothing that changes while the app boots', async () => {
    app('one', 'two')
    folder.write('one.mjs', folder.slow('one').replace('await', 'words.push("loading")\n  await'))
    const held = folder.hold()
    const booting = folder.boot({ watch: true })
    await expect.poll(() => folder.words).toContain('loading')
    app('one', 'two', 'three')
    held.open()
    const loader = await booting
    await expect.poll(() => loader.entries.map(({ id }) => id)).toEqual(['one', 'two', 'three'])
  })

  const watched = () => process.getActiveResourcesInfo().filter((kind) => kind.startsWith('FSEvent')).length

  it('watches nothing any more once it is stopped, also in the middle of a change, or where it could not boot', async () => {
    await expect.poll(watched).toBe(0)
    app('one')
    const loader = await folder.boot({ watch: true })
    expect(watched()).toBe(1)
    folder.write('far/slow.mjs', folder.slow('slow'))
    const held = folder.hold()
    folder.write('cordis.yml', '- name: ./far/slow.mjs\n')
    const refreshed = loader.refresh()
    await expect.poll(() => loader.entries.map(({ id }) => id)).toEqual(['./far/slow.mjs'])
    const stopped = loader.stop()
    held.open()
    await Promise.all([stopped, refreshed])
    folder.write('cordis.yml', '- name: ./nowhere.mjs\n')
    await expect(folder.boot({ watch: true })).rejects.toThrow('there is no file')
    await expect.poll(watched).toBe(0)
  })

  it('follows the file and the modules, however an editor writes them', async () => {
    app('one')
    const loader = await folder.boot({ watch: true })
    const seen = async (...words: string[]) => expect.poll(() => folder.words).toEqual(words)
    await seen('+one')
    folder.writeByRename('one.mjs', folder.plugin('one b'))
    await seen('+one', '-one', '+one b')
    folder.write('one.mjs', folder.plugin('one c'))
    await seen('+one', '-one', '+one b', '-one b', '+one c')
    folder.writeByRename('cordis.yml', '- id: one\n  name: ./one.mjs\n- id: deep\n  name: ./deep/d.mjs\n  disabled: true\n')
    folder.write('deep/d.mjs', folder.plugin('d'))
    folder.write('cordis.yml', '- id: deep\n  name: ./deep/d.mjs\n')
    await seen('+one', '-one', '+one b', '-one b', '+one c', '-one c', '+d')
    // The new entry's folder is followed from now on.
    folder.write('deep/d.mjs', folder.plugin('d2'))
    await expect.poll(() => folder.words.slice(-2)).toEqual(['-d', '+d2'])
    await loader.stop()
    await expect.poll(watched).toBe(0)
    expect(folder.words.at(-1)).toBe('-d2')
  })

  it('takes events that come together as one', async () => {
    app('one')
    await folder.boot({ watch: true })
    for (let n = 0; n < 5; n++) folder.write('one.mjs', folder.plugin(`one ${n}`))
    await expect.poll(() => folder.words).toEqual(['+one', '-one', '+one 4'])
    folder.write('one.mjs', folder.plugin('one 5'))
    // Loaded once more for the five, it would say so in between.
    await expect.poll(() => folder.words).toEqual(['+one', '-one', '+one 4', '-one 4', '+one 5'])
  })
})
