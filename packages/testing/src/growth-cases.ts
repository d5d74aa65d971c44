import { readFile } from 'node:fs/promises'
import type { Context, Plugin } from 'cordis'
import { expect, vi } from 'vitest'
import { type Request, textOf } from '@headrace/message'
import { type SessionEvent, headerDrift, sectionsOf } from '@headrace/session'
import { expectAppendOnly } from './append-only.ts'
import { differenceOf } from './difference.ts'
import type { GrowthBench } from './growth-bench.ts'
import type { Loaded } from './growth-options.ts'
import type { Harness } from './harness.ts'

/** The cases of the kit, named by the sentence that must hold for a plugin. */
export const growthCases: Readonly<Record<string, (bench: GrowthBench) => Promise<void>>> = {
  async 'whatever the load order'(bench) {
    const cwd = await bench.workspace()
    let first: readonly [order: string, requests: readonly Request[]] | undefined
    for (const plugins of permutations<readonly [string, Loaded]>([[bench.name, bench.options.plugin], ['aaa', neighbour('aaa')], ['zzz', neighbour('zzz')]])) {
      await bench.renew(cwd)
      const order = plugins.map(([name]) => name).join(', ')
      const made = await bench.app(cwd, plugins.map(([, plugin]) => plugin))
      await bench.run(made, 'one', 'two')
      first ??= [order, made.requests]
      const difference = differenceOf(first[1], made.requests)
      if (difference !== undefined) throw new Error(`loaded as ${first[0]} and as ${order} its requests differ: ${difference}`)
    }
  },

  async 'over a resume in which nothing changed'(bench) {
    const made = await bench.app(await bench.workspace())
    await bench.run(made, 'one')
    const byDesign = bench.options.configChanges === 'by design'
    const before = made.agent.session.requestHeader()!
    await made.resume()
    await bench.run(made, 'two')
    expect(headerDrift(before, made.agent.session.requestHeader()!).filter(({ field }) => field !== 'after' && !(byDesign && field === 'config'))).toEqual([])
    expectGrowth(made.requests)
  },

  async 'over a hot reload of the plugin unchanged'(bench) {
    const [disturbed, quiet] = await toldTwice(bench, async (reload) => reload())
    expect(disturbed, 'told otherwise because of a reload').toEqual(quiet)
  },

  async 'while time goes on and nothing else changes: nothing is told for that'(bench) {
    const start = Date.now()
    const [disturbed, quiet] = await toldTwice(bench, async (_, index) => void vi.setSystemTime(start + [0, 1_000, 61_000][index]!))
    expect(disturbed, 'told otherwise because a second or a minute went by').toEqual(quiet)
  },

  async 'over midnight, also in the process of the day after'(bench) {
    vi.setSystemTime(new Date('2026-06-15T23:59:30'))
    const made = await bench.app(await bench.workspace(), [])
    const reload = bench.loaderOf(made)
    await reload()
    await bench.run(made, 'one')
    vi.setSystemTime(new Date('2026-06-16T00:00:30'))
    await bench.run(made, 'two')
    await reload()
    await bench.run(made, 'three')
    expectGrowth(made.requests)
  },

  async 'in another time zone and another locale'(bench) {
    const made = await bench.app(await bench.workspace(), [])
    const reload = bench.loaderOf(made)
    for (const [zone, lang] of [['UTC', 'C'], ['Pacific/Kiritimati', 'ar_EG.UTF-8'], ['Pacific/Pago_Pago', 'tr_TR.UTF-8']] as const) {
      process.env.TZ = zone
      process.env.LANG = lang
      await reload()
      await bench.run(made, 'go')
    }
    expectGrowth(made.requests)
  },

  async 'and two workspaces have equal system prompts and tools'(bench) {
    const [one, two] = [await bench.app(await bench.workspace()), await bench.app(await bench.workspace())]
    await bench.run(one, 'go')
    await bench.run(two, 'go')
    expect(two.requests[0]!.system).toBe(one.requests[0]!.system)
    expect(two.requests[0]!.tools).toEqual(one.requests[0]!.tools)
  },

  async 'and its config listeners are idempotent: a config that nobody changed stays'(bench) {
    const made = await bench.app(await bench.workspace())
    await bench.run(made, 'one', 'two', 'three')
    if (bench.options.configChanges === 'by design') return expectSameBySteps(made)
    const configs = made.requests.map((request) => JSON.stringify(request.config))
    expect(new Set(configs).size, `the config moves by itself: ${configs.slice(0, 3).join(' → ')}`).toBe(1)
  },
}

/** The README's chapter has every text that the plugin adds. */
export async function readmeCase(bench: GrowthBench, chapter: NonNullable<GrowthBench['options']['chapter']>): Promise<void> {
  const folder = await bench.workspace()
  const made = await bench.app(folder)
  await bench.run(made, 'go')
  const readme = await readFile(chapter.readme, 'utf8')
  const said = /^## What the model sees$([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(readme)?.[1] ?? ''
  for (const text of textsOf(made, bench.name)) {
    const spelled = chapter.spell?.(text, folder) ?? text
    expect(said, `the chapter "What the model sees" does not have:\n${spelled}`).toContain(spelled)
  }
}

/** What is told over three turns ahead of which something happens, and over three without. */
async function toldTwice(
  bench: GrowthBench,
  happens: (reload: () => Promise<void>, index: number) => Promise<void>,
): Promise<readonly (readonly string[])[]> {
  const cwd = await bench.workspace()
  const told: (readonly string[])[] = []
  for (const before of [happens, undefined]) {
    await bench.renew(cwd)
    const made = await bench.app(cwd, [])
    const reload = bench.loaderOf(made)
    await reload()
    for (const index of [0, 1, 2]) {
      await before?.(reload, index)
      await bench.run(made, `prompt ${index}`)
    }
    expectGrowth(made.requests)
    told.push(toldIn(made))
  }
  return told
}

function expectGrowth(requests: readonly Request[]): void {
  expectAppendOnly(requests)
  for (const request of requests.slice(1)) {
    expect(cachedPart(request), 'system, tools, prefix or before moved').toBe(cachedPart(requests[0]!))
  }
}

/** Each step has the config that it had in the turn before. The first turn may differ: it begins from what the session was made with. */
function expectSameBySteps(made: Harness): void {
  const configs = new Map<number, string>()
  const dispatches = [...made.agent.session.events()].filter((event): event is SessionEvent<'request/dispatch'> => event.type === 'request/dispatch')
  for (const [index, { data: { turn = 0, step, purpose } }] of dispatches.entries()) {
    if (purpose !== undefined || step === undefined || turn < 2) continue
    const config = JSON.stringify(made.requests[index]!.config)
    expect(config, `the config of step ${step} moves by itself from turn to turn`).toBe(configs.get(step) ?? config)
    configs.set(step, config)
  }
}

function cachedPart({ system, tools, messages, segments }: Request): string {
  return JSON.stringify([system, tools, messages.slice(0, segments.prefix + segments.before)])
}

/** What plugins told in history, behind the owner of each; what tools gave is not theirs. */
function toldIn(made: Harness): readonly string[] {
  return made.agent.session.entries().filter(({ owner, message }) => owner.includes('/') && message.role !== 'tool').map(({ owner, message }) => `${owner}: ${textOf(message)}`)
}

/** Every text that a plugin put where the model sees it. */
function textsOf(made: Harness, plugin: string): readonly string[] {
  const mine = (owner: string | undefined): boolean => owner?.startsWith(`${plugin}/`) === true
  const request = made.requests.at(-1)!
  const header = made.agent.session.requestHeader()!
  const messages = request.messages.filter((_, index) => mine(request.owners[index])).map((message) => textOf(message))
  const tools = (request.tools ?? []).filter((tool) => mine(header.owners.tools?.[tool.name])).map((tool) => tool.description)
  return [...sectionsOf(header).filter(({ owner }) => mine(owner)).map(({ text }) => text), ...tools, ...messages].filter((text) => text !== '')
}

/** A plugin that listens to every seam, so that the load order matters. */
function neighbour(name: string): Plugin {
  return {
    name, inject: ['agents', 'tools', 'system'],
    apply: async (ctx: Context) => {
      ctx.system.section({ key: 'section', content: `Section of ${name}.` })
      ctx.tools.define({ name, description: name, parameters: { type: 'object' }, execute: () => name })
      ctx.agents.prefix({ key: 'opener', content: () => `Opener of ${name}.` })
      ctx.agents.before({ key: 'frame', content: () => `Before of ${name}.` })
      ctx.agents.after({ key: 'last', content: () => `After of ${name}.` })
    },
  }
}

function permutations<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length <= 1) return [items]
  return items.flatMap((item, index) => permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]))
}
