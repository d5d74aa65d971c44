import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { BootOptions, Loader } from '@headrace/loader'
import { Folder } from './folder.ts'

let folder: Folder
beforeEach(() => {
  folder = new Folder()
  expect(folder.words).toEqual([])
})
afterEach(() => folder.close())

/** An app with these entries, each with the word of its config where it has one. */
function app(entries: Readonly<Record<string, string>>): void {
  folder.write('cordis.yml', Object.entries(entries).map(([id, word]) => `- id: ${id}\n  name: ./${id}.mjs\n${word && `  config: { word: ${word} }\n`}`).join(''))
}

async function booted(entries: Readonly<Record<string, string>>, options: BootOptions = {}): Promise<Loader> {
  app(entries)
  const loader = await folder.boot(options)
  folder.words.length = 0
  folder.reports.length = 0
  return loader
}

function waiting(word: string, ...services: readonly string[]): string {
  return folder.plugin(word, `export const inject = ${JSON.stringify(services)}`)
}

function providing(word: string, service: string, more = ''): string {
  return folder.plugin(word, more).replace('words.push', `ctx.provide(${JSON.stringify(service)}, {})\n  words.push`)
}

const problems = () => folder.reports.filter(({ kind }) => kind === 'problem').map(({ message }) => message.replaceAll(`${folder.path}/`, ''))
const changes = () => folder.reports.filter(({ kind }) => kind === 'changed').map(({ entry, message }) => `${entry} ${message}`)

describe('a new version that waits for a service', () => {
  it('which nobody provides takes the place of nothing: the one before runs on, without a moment\'s break', async () => {
    folder.write('one.mjs', folder.plugin('one'))
    const loader = await booted({ one: '' })
    folder.write('one.mjs', waiting('one new', 'tols'))
    await loader.refresh()
    await loader.refresh()
    expect([folder.words, changes()]).toEqual([[], []])
    expect(problems()).toEqual(['cordis.yml:1:3: one: its new version waits for the service tols, which nobody provides; the one before runs on'])
    folder.write('one.mjs', folder.plugin('one healed'))
    await loader.refresh()
    expect([folder.words, changes()]).toEqual([['-one', '+one healed'], ['one reloaded']])
  })

  it('that another entry provides from now on takes its place when that one is there, also in a chain', async () => {
    for (const name of ['one', 'two']) folder.write(`${name}.mjs`, folder.plugin(name))
    folder.write('clock.mjs', providing('clock', 'clock'))
    const loader = await booted({ one: '', two: '' })
    folder.write('one.mjs', waiting('one new', 'sun'))
    folder.write('two.mjs', providing('two new', 'sun', 'export const inject = { clock: true }'))
    app({ one: '', two: '', clock: '' })
    await loader.refresh()
    expect(folder.words).toEqual(['+clock', '-two', '+two new', '-one', '+one new'])
    expect([problems(), changes()]).toEqual([[], ['clock loaded', 'two reloaded', 'one reloaded']])
    expect(loader.entries.map(({ id }) => id)).toEqual(['one', 'two', 'clock'])
  })

  it('that only the one before provides gives way to that one', async () => {
    folder.write('one.mjs', providing('one', 'clock'))
    const loader = await booted({ one: '' })
    folder.write('one.mjs', waiting('one new', 'clock'))
    await loader.refresh()
    expect(folder.words).toEqual(['-one', '+one'])
    expect([problems(), changes()]).toEqual([['cordis.yml:1:3: one: its new version waits for the service clock, which nobody provides; the one before runs again'], []])
  })

  it('is put in place where the one before does not run either, and runs when the service comes', async () => {
    folder.write('clock.mjs', providing('clock', 'clock'))
    folder.write('one.mjs', waiting('one', 'clock'))
    const loader = await booted({ clock: '', one: 'hi' })
    app({ one: 'ho' })
    await loader.refresh()
    expect(folder.words).toEqual(['-clock', '-one'])
    expect(problems()).toEqual(['cordis.yml:1:3: one: waits for the service clock, which nobody provides'])
    app({ one: 'ho', clock: '' })
    await loader.refresh()
    expect(folder.words.slice(2)).toEqual(['+clock', '+one:ho'])
  })
})

describe('a new version that does not run', () => {
  const hangs = (word: string) => folder.plugin(word).replace('words.push', 'if (config?.word !== "good") await new Promise(() => {})\n  words.push')
  const broken = (word: string) => folder.plugin(word).replace('words.push', 'if (config?.word !== "good") ctx.plugin({ name: "inner", apply: async () => { throw new Error("no moon") } })\n  words.push')

  it('as it never ends loading gives way to the one before', async () => {
    folder.write('one.mjs', folder.plugin('one'))
    const loader = await booted({ one: '' }, { timeout: 200 })
    folder.write('one.mjs', hangs('one new'))
    await loader.refresh()
    expect(folder.words).toEqual(['-one', '+one'])
    expect([problems(), changes()]).toEqual([['cordis.yml:1:3: one: its new version did not come to an end of loading; the one before runs again'], []])
  })

  it('as a part of it fails gives way to the one before', async () => {
    folder.write('one.mjs', folder.plugin('one'))
    const loader = await booted({ one: '' })
    folder.write('one.mjs', broken('one new'))
    await loader.refresh()
    expect(folder.words).toEqual(['-one', '+one new', '-one new', '+one'])
    expect([problems(), changes()]).toEqual([['cordis.yml:1:3: one: its new version failed in its part inner: no moon; the one before runs again'], []])
  })

  it.each([['that never ends loading', hangs, 'did not come to an end of loading'], ['of which a part fails', broken, 'failed in its part inner: no moon']])('with another config, %s, gives way to the config before', async (_, source, why) => {
    folder.write('one.mjs', source('one'))
    const loader = await booted({ one: 'good' }, { timeout: 200 })
    app({ one: 'bad' })
    await loader.refresh()
    expect(folder.words.filter((word) => word !== '+one:bad' && word !== '-one')).toEqual(['+one:good'])
    expect([problems(), changes()]).toEqual([[`cordis.yml:1:3: one: its new version ${why}; the one before runs again`], []])
  })

  it('gives way also where another provides its service from now on', async () => {
    for (const name of ['clock', 'watch']) folder.write(`${name}.mjs`, providing(name, 'clock'))
    folder.write('one.mjs', broken('one').replace('export async', 'export const inject = ["clock"]\nexport async'))
    const loader = await booted({ clock: '', one: 'good' })
    app({ one: 'bad', watch: '' })
    await loader.refresh()
    expect(problems()).toEqual(['cordis.yml:1:3: one: its new version failed in its part inner: no moon; the one before runs again'])
    expect(folder.words.at(-1)).toBe('+one:good')
  })

  it('gives way to none where the one before did not run either', async () => {
    folder.write('one.mjs', broken('one'))
    const loader = await booted({ one: 'bad' }, { partial: true })
    app({ one: 'worse' })
    await loader.refresh()
    expect(folder.words).toEqual(['-one', '+one:worse'])
    // Why it does not run was told at boot, and is the same.
    expect([problems(), changes()]).toEqual([[], ['one updated']])
  })
})
