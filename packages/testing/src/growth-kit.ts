import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context, Plugin } from 'cordis'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Request, textOf } from '@headrace/message'
import { headerDrift, sectionsOf } from '@headrace/session'
import { expectAppendOnly } from './append-only.ts'
import { type Harness, type HarnessOptions, harness } from './harness.ts'
import type { Script } from './scripted.ts'

/** The state of a fiber that runs. */
const ACTIVE = 2

type Loaded = Plugin | readonly [plugin: Plugin, config?: unknown]

/** Options of `growthKit()`. */
export interface GrowthOptions {
  /** The plugin under test. */
  readonly plugin: Loaded
  /** What it needs beside the agent's services, such as the BriefingService. */
  readonly needs?: readonly Loaded[]
  /** Puts files into a workspace; called for each one, with the same outcome in each. */
  readonly prepare?: (folder: string) => Promise<void>
  /** A model that makes the plugin do its work. Default: answers at once. */
  readonly script?: Script
  /** Holds the README to its word. */
  readonly chapter?: {
    /** The plugin's README. */
    readonly readme: URL
    /** How a text that it added reads there: a placeholder for each part that varies. */
    readonly spell?: (text: string, folder: string) => string
  }
}

/**
 * Tests that a plugin lets a request grow only at its end, whatever happens around it: load order, resume, hot reload, midnight, time zone
 * and locale, another workspace; that its config listeners are idempotent; and that its README says what the model sees.
 *
 * ```ts
 * growthKit('clock', { plugin: clock })
 * ```
 */
export function growthKit(name: string, options: GrowthOptions): void {
  describe(`${name}: requests grow only at their end`, () => {
    const folders: string[] = []
    const apps: Harness[] = []
    const { TZ, LANG } = process.env

    beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-06-15T12:00:00') }))
    afterEach(async () => {
      vi.useRealTimers()
      restore('TZ', TZ)
      restore('LANG', LANG)
      for (const app of apps.splice(0)) await app.dispose()
      for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
    })

    async function workspace(): Promise<string> {
      const folder = await mkdtemp(join(tmpdir(), 'headrace-growth-'))
      folders.push(folder)
      await options.prepare?.(folder)
      return folder
    }

    async function app(cwd: string, plugins: readonly Loaded[] = [options.plugin]): Promise<Harness> {
      const made = await harness({ plugins: [...(options.needs ?? []), ...plugins] as NonNullable<HarnessOptions['plugins']>, agent: { cwd }, ...(options.script && { script: options.script }) })
      apps.push(made)
      return made
    }

    /** Loads the plugin under test into an app, or takes it out and loads it anew. */
    function loaderOf(made: Harness): () => Promise<void> {
      const [plugin, config] = (Array.isArray(options.plugin) ? options.plugin : [options.plugin]) as [Plugin, unknown?]
      let fiber: { dispose(): Promise<void>; readonly state: number } | undefined
      return async () => {
        await fiber?.dispose()
        fiber = await made.ctx.plugin(plugin, config)
        expect(fiber.state, `${name} is not loaded: does it wait for a service? Give the kit what it needs.`).toBe(ACTIVE)
      }
    }

    it('whatever the load order', async () => {
      const cwd = await workspace()
      const seen = new Set<string>()
      for (const plugins of permutations([options.plugin, neighbour('aaa'), neighbour('zzz')])) {
        const made = await app(cwd, plugins)
        await made.run('one')
        await made.run('two')
        seen.add(made.requests.map(bytes).join('\n'))
      }
      expect(seen.size, 'different bytes for different load orders').toBe(1)
    })

    it('over a resume in which nothing changed', async () => {
      const made = await app(await workspace())
      await made.run('one')
      const before = made.agent.session.requestHeader()!
      await made.resume()
      await made.run('two')
      expect(headerDrift(before, made.agent.session.requestHeader()!).filter(({ field }) => field !== 'after')).toEqual([])
      expectGrowth(made.requests)
    })

    it('over a hot reload of the plugin unchanged', async () => {
      const made = await app(await workspace(), [])
      const reload = loaderOf(made)
      await reload()
      await made.run('one')
      const length = made.agent.session.entries().length
      await reload()
      await made.run('two')
      expectGrowth(made.requests)
      expect(ownersOf(made).slice(length).filter((owner) => owner.includes('/')), 'told again after a reload').toEqual([])
    })

    it('over midnight, also in the process of the day after', async () => {
      vi.setSystemTime(new Date('2026-06-15T23:59:30'))
      const made = await app(await workspace(), [])
      const reload = loaderOf(made)
      await reload()
      await made.run('one')
      vi.setSystemTime(new Date('2026-06-16T00:00:30'))
      await made.run('two')
      await reload()
      await made.run('three')
      expectGrowth(made.requests)
    })

    it('in another time zone and another locale', async () => {
      const made = await app(await workspace(), [])
      const reload = loaderOf(made)
      for (const [zone, lang] of [['UTC', 'C'], ['Pacific/Kiritimati', 'ar_EG.UTF-8'], ['Pacific/Pago_Pago', 'tr_TR.UTF-8']] as const) {
        process.env.TZ = zone
        process.env.LANG = lang
        await reload()
        await made.run('go')
      }
      expectGrowth(made.requests)
    })

    it('and two workspaces have equal system prompts and tools', async () => {
      const [one, two] = [await app(await workspace()), await app(await workspace())]
      await one.run('go')
      await two.run('go')
      expect(two.requests[0]!.system).toBe(one.requests[0]!.system)
      expect(two.requests[0]!.tools).toEqual(one.requests[0]!.tools)
    })

    it('and its config listeners are idempotent: a config that nobody changed stays', async () => {
      const made = await app(await workspace())
      for (const prompt of ['one', 'two', 'three']) await made.run(prompt)
      const configs = made.requests.map((request) => JSON.stringify(request.config))
      expect(new Set(configs).size, `the config moves by itself: ${configs.slice(0, 3).join(' → ')}`).toBe(1)
    })

    const { chapter } = options
    if (!chapter) return
    it('and its README says what the model sees', async () => {
      const folder = await workspace()
      const made = await app(folder)
      await made.run('go')
      const readme = await readFile(chapter.readme, 'utf8')
      const said = /^## What the model sees$([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(readme)?.[1] ?? ''
      for (const text of textsOf(made, name)) {
        const spelled = chapter.spell?.(text, folder) ?? text
        expect(said, `the chapter "What the model sees" does not have:\n${spelled}`).toContain(spelled)
      }
    })
  })
}

function expectGrowth(requests: readonly Request[]): void {
  expectAppendOnly(requests)
  for (const request of requests.slice(1)) {
    expect(cachedPart(request), 'system, tools, prefix or before moved').toBe(cachedPart(requests[0]!))
  }
}

function cachedPart({ system, tools, messages, segments }: Request): string {
  return JSON.stringify([system, tools, messages.slice(0, segments.prefix + segments.before)])
}

function bytes({ signal: _signal, session: _session, ...request }: Request): string {
  return JSON.stringify(request)
}

function ownersOf(made: Harness): readonly string[] {
  return made.agent.session.entries().map(({ owner }) => owner)
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

/** A plugin that takes part everywhere, so that an order of loading has something to disturb. */
function neighbour(name: string): Plugin {
  return {
    name, inject: ['agents', 'tools', 'system'],
    apply: async (ctx: Context) => {
      ctx.system.section({ key: 'section', text: `Section of ${name}.` })
      ctx.tools.define({ name, description: name, parameters: { type: 'object' }, execute: () => name })
      ctx.agents.prefix('opener', () => `Opener of ${name}.`)
      ctx.agents.before('frame', () => `Before of ${name}.`)
      ctx.agents.after('last', () => `After of ${name}.`)
    },
  }
}

function permutations<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length <= 1) return [items]
  return items.flatMap((item, index) => permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]))
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
