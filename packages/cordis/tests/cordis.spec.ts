import * as cordis from 'cordis'
import { Context, type Fiber, type Plugin } from 'cordis'
import { describe, expect, it } from 'vitest'
import {
  Departures, Listeners, fibersOf, isActive, isBelow, isFailed, loadingFiber, missingServices, movingPart, nameOf, originalOf,
  partsOf, pluginOf, registrationsOf, renamed, runOf, servicesOf, sortListeners, stateOf, whyNotRunning,
} from '../src/index.ts'

/** Events and services of these tests, which no type knows. */
interface Loose {
  on(
    event: string,
    listener: (...args: never[]) => unknown,
    options?: { readonly prepend?: boolean; readonly global?: boolean },
  ): () => void
  emit(event: string, ...args: unknown[]): void
}

const loose = (ctx: Context): Loose => ctx as unknown as Loose

/** Loads a plugin and waits until it runs, waits or failed. */
async function load(ctx: Context, plugin: Plugin, config?: unknown): Promise<Fiber> {
  const loading = (ctx.plugin as (plugin: Plugin, config?: unknown) => Fiber)(plugin, config)
  const { fiber } = loading.ctx
  await fiber.await().catch(() => undefined)
  return fiber
}

/** A plugin that loads another. */
function around(name: string, plugin: Plugin): Plugin {
  return { name, apply: async (ctx) => void await load(ctx, plugin) }
}

function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined
  return { opened: new Promise<void>((resolve) => (open = resolve)), open: () => open() }
}

describe('listeners', () => {
  it('stand in Cordis\' order, the outermost first, under the name of their event', () => {
    const ctx = new Context()
    const listeners = new Listeners(ctx)
    const said: string[] = []
    loose(ctx).on('test/a', () => void said.push('second'))
    loose(ctx).on('test/a', () => void said.push('first'), { prepend: true })
    loose(ctx).on('test/b', () => undefined, { global: true })
    for (const { callback } of listeners.of('test/a')) callback()
    loose(ctx).emit('test/a')
    expect(said).toEqual(['first', 'second', 'first', 'second'])
    expect(listeners.of('test/a').map(({ prepend }) => prepend ?? false)).toEqual([true, false])
    expect(listeners.of('test/b').map(({ global }) => global)).toEqual([true])
    expect(listeners.of('test/c')).toEqual([])
    expect(listeners.events().filter((name) => name.startsWith('test/'))).toEqual(['test/a', 'test/b'])
  })

  it('know the context that they were registered on', async () => {
    const ctx = new Context()
    const fiber = await load(ctx, { name: 'listens', apply: async (inner) => void loose(inner).on('test/a', () => undefined) })
    expect(new Listeners(ctx).of('test/a')[0]!.ctx.fiber).toBe(fiber)
  })

  it('are registered until they are taken away or their plugin is unloaded, and an event without any is none', async () => {
    const ctx = new Context()
    const listeners = new Listeners(ctx)
    const off = loose(ctx).on('test/a', () => undefined)
    const fiber = await load(ctx, { name: 'listens', apply: async (inner) => void loose(inner).on('test/a', () => undefined) })
    const [own, others] = [...listeners.of('test/a')]
    expect([listeners.has('test/a', own!), listeners.has('test/a', others!)]).toEqual([true, true])
    off()
    expect([listeners.has('test/a', own!), listeners.has('test/a', others!)]).toEqual([false, true])
    await fiber.dispose()
    expect(listeners.has('test/a', others!)).toBe(false)
    expect(listeners.events()).not.toContain('test/a')
    loose(ctx).on('test/a', () => undefined)
    expect(listeners.of('test/a')).toHaveLength(1)
  })

  it('are sorted by rank, what is prepended in the reverse order; those without a rank keep their place', async () => {
    const ctx = new Context()
    const said: string[] = []
    const listens = (name: string): Plugin => ({
      name,
      apply: async (inner) => {
        loose(inner).on('test/a', () => void said.push(name))
        loose(inner).on('test/a', () => void said.push(`first ${name}`), { prepend: true })
      },
    })
    await load(ctx, listens('two'))
    loose(ctx).on('test/a', () => void said.push('app'))
    await load(ctx, listens('one'))
    sortListeners(ctx, ({ fiber }) => ({ one: 1, two: 2 })[fiber.name])
    loose(ctx).emit('test/a')
    expect(said).toEqual(['first two', 'first one', 'one', 'app', 'two'])
  })
})

describe('the state of a fiber', () => {
  it('has the numbers of Cordis\' own enum', () => {
    const numbers = (cordis as unknown as { FiberState: Readonly<Record<string, number>> }).FiberState
    const known = ['PENDING', 'LOADING', 'ACTIVE', 'FAILED', 'DISPOSED', 'UNLOADING'].map((name) => stateOf({ state: numbers[name], uid: 1 } as Fiber))
    expect(known).toEqual(['pending', 'loading', 'active', 'failed', 'disposed', 'unloading'])
    expect(Object.values(numbers).filter((value) => typeof value === 'number')).toHaveLength(known.length)
  })

  it('goes from loading to active to unloading to disposed', async () => {
    const ctx = new Context()
    const [loaded, unloaded] = [gate(), gate()]
    const { fiber } = (ctx.plugin({ name: 'slow', apply: async () => { await loaded.opened; return () => unloaded.opened } }) as Fiber).ctx
    expect([stateOf(fiber), loadingFiber(ctx), movingPart(fiber)]).toEqual(['loading', fiber, fiber])
    loaded.open()
    await fiber.await()
    expect([stateOf(fiber), isActive(fiber), loadingFiber(ctx), movingPart(fiber)]).toEqual(['active', true, undefined, undefined])
    const gone = fiber.dispose()
    await expect.poll(() => stateOf(fiber)).toBe('unloading')
    unloaded.open()
    await gone
    expect([stateOf(fiber), isActive(fiber), loadingFiber(ctx)]).toEqual(['disposed', false, undefined])
  })

  it('is failed after an error, and disposed once the failed plugin is unloaded', async () => {
    const ctx = new Context()
    const fiber = await load(ctx, { name: 'fails', apply: async () => { throw new Error('no') } })
    expect([stateOf(fiber), isFailed(fiber)]).toEqual(['failed', true])
    await fiber.dispose()
    expect([stateOf(fiber), isFailed(fiber)]).toEqual(['disposed', false])
  })
})

describe('the fibers of an app', () => {
  it('are those of all plugins, and know which was loaded by which', async () => {
    const ctx = new Context()
    const outer = await load(ctx, around('outer', around('middle', { name: 'inner', apply: async () => undefined })))
    await load(ctx, { name: 'beside', apply: async () => undefined })
    const [, middle, inner, beside] = ['outer', 'middle', 'inner', 'beside'].map((name) => fibersOf(ctx).find((fiber) => fiber.name === name)!)
    expect(fibersOf(ctx)).toHaveLength(4)
    expect(partsOf(outer)).toEqual([middle, inner])
    expect([isBelow(inner!, outer), isBelow(inner!, middle!)]).toEqual([true, true])
    expect([isBelow(outer, outer), isBelow(beside!, outer), isBelow(outer, inner!)]).toEqual([false, false, false])
  })

  it('tell when they leave: as they unload, fail or wait again, once each, and not to who stopped waiting', async () => {
    const ctx = new Context()
    const departures = new Departures(ctx)
    const provider = await load(ctx, { name: 'provides', apply: async (inner) => void inner.provide('thing', {}) })
    const user = await load(ctx, { name: 'uses', inject: ['thing'], apply: async () => undefined })
    const gone: string[] = []
    departures.watch(ctx.fiber, () => gone.push('app'))
    departures.watch(user, () => gone.push('user'))
    departures.watch(user, () => gone.push('stopped'))()
    departures.watch(provider, () => gone.push('provider'))
    await provider.dispose()
    await user.await()
    expect(new Set(gone)).toEqual(new Set(['provider', 'user']))
    expect(stateOf(user)).toBe('pending')
  })
})

it('a run of a plugin is another after a reload, and none while it does not run', async () => {
  const ctx = new Context()
  const fiber = await load(ctx, { name: 'runs', apply: async () => undefined })
  const first = runOf(fiber)
  expect(first).toBe(runOf(fiber))
  const restarting = fiber.restart()
  expect(runOf(fiber)).toBeUndefined()
  await restarting
  expect(runOf(fiber)).toBeTypeOf('object')
  expect(runOf(fiber)).not.toBe(first)
  const app = runOf(ctx.fiber)
  expect(app).toBeTypeOf('object')
  await ctx.fiber.dispose()
  expect(runOf(ctx.fiber)).not.toBe(app)
  expect([runOf(fiber), runOf(await load(ctx, { name: 'waits', inject: ['nothing'], apply: async () => undefined }))]).toEqual([undefined, undefined])
})

describe('the plugin of a context', () => {
  it('is the nearest one with a name, none for the app', async () => {
    const ctx = new Context()
    let nameless: Context | undefined
    const fiber = await load(ctx, { name: 'named', apply: async (inner) => { await inner.plugin({ apply: async (below: Context) => void (nameless = below) } as Plugin) } })
    expect(pluginOf(ctx)).toBeUndefined()
    expect(pluginOf(fiber.ctx)).toBe('named')
    expect(pluginOf(nameless!)).toBe('named')
    expect(pluginOf(nameless!.extend({}))).toBe('named')
  })

  it('is called as it was when it was loaded, though another name of it was loaded first: Cordis has one name for all of an apply', async () => {
    const seen: (string | undefined)[] = []
    const object = { name: 'git', apply: async (inner: Context) => void seen.push(pluginOf(inner)) }
    class Git {
      static readonly name = 'Git'
      constructor(inner: Context) { seen.push(pluginOf(inner)) }
    }
    const ctx = new Context()
    const fibers = [await load(ctx, object), await load(ctx, { ...object, name: 'git:work' }), await load(ctx, renamed(object, 'git:home'))]
    for (const plugin of [Git, renamed(Git, 'Git:work')]) await load(ctx, plugin as Plugin)
    expect(seen).toEqual(['git', 'git:work', 'git:home', 'Git', 'Git:work'])
    expect(fibers.map(nameOf)).toEqual(['git', 'git:work', 'git:home'])
    expect(new Set(fibers.map(({ runtime }) => runtime!.name))).toEqual(new Set(['git']))
  })

  it('is none for an object that looks like a context, and no other than its own for a context with a fiber put on it', async () => {
    const ctx = new Context()
    const own = await load(ctx, { name: 'own', apply: async () => undefined })
    const runtime = (name: string) => ({ name, callback: () => undefined, fibers: [] })
    const fake = (name: string) => ({ runtime: runtime(name), parent: ctx, ctx, state: 2 }) as unknown as Fiber
    const forged = [
      {}, { fiber: {} }, { fiber: null }, { fiber: { runtime: null } }, { fiber: fake('honest') }, { root: ctx, fiber: fake('honest') },
      { fiber: Object.create(own.runtime as object) as object }, { root: { fiber: {} }, fiber: { ctx: { root: { fiber: {} } } } },
    ]
    for (const context of forged) expect(() => pluginOf(context as unknown as Context)).toThrow(TypeError)
    expect(pluginOf(own.ctx.extend({ fiber: fake('honest') }))).toBe('own')
    expect(pluginOf(own.ctx.extend({ fiber: Object.assign(Object.create(own) as Fiber, { runtime: { name: 'honest' } }) }))).toBe('own')
    Object.assign(own, { [Symbol.for('headrace.name')]: 'honest' })
    expect(pluginOf(own.ctx)).toBe('own')
  })

  it('is looked for up to a boundary', async () => {
    const ctx = new Context()
    const boundary: Plugin = { name: 'boundary', apply: (): void => undefined }
    const outer = await load(ctx, { name: 'outer', apply: async () => undefined })
    const scope = await load(outer.ctx, boundary)
    const inside = await load(scope.ctx, { name: 'inside', apply: async () => undefined })
    expect([pluginOf(scope.ctx), pluginOf(scope.ctx, boundary.apply), pluginOf(inside.ctx, boundary.apply)]).toEqual(['boundary', undefined, 'inside'])
  })
})

it('what a plugin registered stands in the labels of its effects, without its parts', async () => {
  const ctx = new Context()
  const fiber = await load(ctx, {
    name: 'registers',
    apply: async (inner) => {
      inner.provide('thing', {})
      loose(inner).on('test/a', () => undefined)
      inner.effect(() => () => undefined, 'ctx.tools.define("read")')
      inner.effect(() => () => undefined)
      await inner.plugin({ name: 'part', apply: async (below) => void loose(below).on('test/b', () => undefined) })
    },
  })
  expect(registrationsOf(fiber)).toEqual([{ what: 'provide', key: 'thing' }, { what: 'on', key: 'test/a' }, { what: 'tools.define', key: 'read' }])
})

it('a service stands behind each view of it', async () => {
  const ctx = new Context()
  expect(ctx.events === ctx.events).toBe(false)
  expect(originalOf(ctx.events)).toBe(originalOf(ctx.events))
  const plain = { plain: true }
  expect(originalOf(plain)).toBe(plain)
})

describe('why a plugin does not run', () => {
  it('is nothing where it runs, also where a part of it waits', async () => {
    const ctx = new Context()
    const fiber = await load(ctx, { name: 'runs', apply: async (inner) => void inner.plugin({ name: 'part', inject: ['thing'], apply: async () => undefined }) })
    expect(whyNotRunning(fiber)).toBeUndefined()
  })

  it('is the services that nobody provides, with those that somebody does', async () => {
    const ctx = new Context()
    await load(ctx, { name: 'provides', apply: async (inner) => void inner.provide('thong', {}) })
    const fiber = await load(ctx, { name: 'waits', inject: ['thing', 'thong'], apply: async () => undefined })
    expect(missingServices(fiber)).toEqual(['thing'])
    const why = whyNotRunning(fiber)
    expect(why).toMatchObject({ kind: 'waits', services: ['thing'] })
    expect(why?.kind === 'waits' && why.provided).toContain('thong')
    await load(ctx, { name: 'provides it', apply: async (inner) => void inner.provide('thing', {}) })
    await fiber.await()
    expect(whyNotRunning(fiber)).toBeUndefined()
    expect(servicesOf(ctx)).toEqual(['thong', 'thing'])
  })

  it('is its error, its part\'s, or its config\'s, until it is updated', async () => {
    const ctx = new Context()
    const error = new Error('no')
    const Config = { '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => (value === 'good' ? { value } : { issues: [{ message: 'bad' }] }) } }
    let fails = true
    const fiber = await load(ctx, { name: 'fails', apply: async () => { if (fails) throw error } })
    expect(whyNotRunning(fiber)).toEqual({ kind: 'failed', error })
    fails = false
    await fiber.update(undefined)
    expect(whyNotRunning(fiber)).toBeUndefined()
    const outer = await load(ctx, { name: 'outer', apply: async (inner) => void await load(inner, { name: 'part', apply: async () => { throw error } }) })
    expect(whyNotRunning(outer)).toMatchObject({ kind: 'failed', error, part: { name: 'part' } })
    const strict = await load(ctx, { name: 'strict', Config, apply: async () => undefined } as Plugin, 'bad')
    expect([stateOf(strict), whyNotRunning(strict)]).toMatchObject(['pending', { kind: 'failed', error: { name: 'ValidationError' } }])
  })

  it('is that it still loads, or that it was unloaded', async () => {
    const ctx = new Context()
    const { opened, open } = gate()
    const { fiber } = (ctx.plugin({ name: 'slow', apply: () => opened }) as Fiber).ctx
    expect(whyNotRunning(fiber)).toEqual({ kind: 'loading' })
    open()
    await fiber.await()
    await fiber.dispose()
    expect(whyNotRunning(fiber)).toEqual({ kind: 'unloaded' })
  })
})
