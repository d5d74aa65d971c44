import { pluginOf } from '@headrace/agent/internal'
import { type Registration, fibersOf, isBelow, registrationsOf } from '@headrace/cordis'
import type { Chunk, Message, Owner } from '@headrace/message'
import { MemoryStore, type SessionEvent, type SessionStore } from '@headrace/session'
import { heuristicCounter } from '@headrace/tokens'
import type { Context, Fiber } from 'cordis'
import { CommandError } from './error.ts'
import { type DispatchEvent, type Explanation, type Size, explainRequest } from './explanation.ts'

/** A contribution of a plugin to a first request. */
export interface Cost extends Size {
  readonly kind: 'tool' | 'system' | 'prefix' | 'before' | 'history' | 'after'
  readonly owner: Owner
  /** Of a tool, its name. */
  readonly name?: string
}

/** A loaded plugin, with what it registered. */
export interface Part {
  /** The id of its entry, else its plugin's name. */
  readonly id: string
  /** What it signs with. */
  readonly plugin: string
  readonly registered: readonly Registration[]
  /** In a first request. `after` is paid again on each. */
  readonly costs: readonly Cost[]
  /** Sums of the costs; tokens are estimates. */
  readonly bytes: number
  readonly tokens: number
}

/** A fiber that counts as a plugin of its own. */
export interface Top {
  readonly id: string
  readonly fiber: Fiber
}

/** With all that is below it and does not count itself. */
interface Place extends Top {
  readonly fibers: readonly Fiber[]
}

/** The plugins of an app, what each registered, and its cost in a first request. */
export function inventoryOf(ctx: Context, entries: readonly Top[], request: Explanation | undefined): readonly Part[] {
  const all = fibersOf(ctx)
  const tops = entries.flatMap(({ id, fiber }) => [{ id, fiber }, ...partsOfSet(fiber, all)])
  const places = tops.map((top): Place => ({ ...top, fibers: all.filter((fiber) => topOf(fiber, tops) === top.fiber) }))
  const known = places.map((place) => ({ place, plugin: pluginOf(place.fiber.ctx), registered: place.fibers.flatMap(registrationsOf) }))
  const costs = request ? costsOf(request) : []
  return known.map((part) => {
    const own = costs.filter((cost) => ownerAmong(known, cost) === part)
    return {
      id: part.place.id, plugin: part.plugin, registered: part.registered, costs: own,
      bytes: sum(own.map(({ bytes }) => bytes)), tokens: sum(own.map(({ tokens }) => tokens)),
    }
  })
}

/** A plugin that is only a set of others, such as `headrace`, is shown by those parts that sign with names of their own. */
function partsOfSet(fiber: Fiber, all: readonly Fiber[]): readonly Top[] {
  const name = pluginOf(fiber.ctx)
  if (name !== 'headrace') return []
  return all
    .filter((other) => other.parent.fiber === fiber && pluginOf(other.ctx) !== name)
    .map((other) => ({ id: pluginOf(other.ctx), fiber: other }))
}

function topOf(fiber: Fiber, tops: readonly Top[]): Fiber | undefined {
  // The innermost one: a part of a set counts for itself.
  const around = tops.map((top) => top.fiber).filter((top) => top === fiber || isBelow(fiber, top))
  return around.find((top) => !around.some((other) => isBelow(other, top)))
}

function costsOf({ tools, system, messages }: Explanation): readonly Cost[] {
  const counter = heuristicCounter()
  const tokens = (text: string): number => counter.countText(text)
  const message = (value: Message): number => counter.countMessages([value])
  return [
    ...tools.map(({ name, owner, text, bytes }): Cost => ({ kind: 'tool', name, owner, bytes, tokens: tokens(JSON.stringify(name) + text) })),
    ...system.map(({ owner, text, bytes }): Cost => ({ kind: 'system', owner, bytes, tokens: tokens(text) })),
    ...messages.flatMap(({ segment, owner, bytes, message: value }): Cost[] => (segment === 'asked' ? [] : [{ kind: segment, owner, bytes, tokens: message(value) }])),
  ]
}

/** Finds the plugin of a cost by its signature; where several sign with one name, by the key that one of them registered. */
function ownerAmong<T extends { readonly plugin: string; readonly registered: readonly Registration[] }>(
  parts: readonly T[],
  { owner }: Cost,
): T | undefined {
  const slash = owner.indexOf('/')
  if (slash < 0) return undefined
  const mine = parts.filter(({ plugin }) => plugin === owner.slice(0, slash))
  return mine.find(({ registered }) => registered.some(({ key }) => key === owner.slice(slash + 1))) ?? mine[0]
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** The name of a provider that never answers. */
const DRY = 'dry'

/**
 * The first request of an agent in this app, as its plugins make it, taken apart. Nothing is sent: the outermost listener of
 * `llm/stream` answers. Nothing is kept: the app's store keeps all in memory from then on, so the app is good for nothing else.
 *
 * @throws CommandError where the app makes no request
 */
export async function dryTurn(ctx: Context, cwd: string): Promise<Explanation> {
  keepNothing(ctx.sessions.current)
  ctx.llm.adapter(DRY, { stream: answer })
  ctx.on('llm/stream', () => answer(), { prepend: true })
  const agent = await ctx.agents.create({ cwd, model: `${DRY}/model` })
  try {
    const { error } = await agent.prompt('.').result
    const events: readonly SessionEvent[] = [...agent.session.events()]
    const first = events.find((event): event is DispatchEvent => event.type === 'request/dispatch')
    if (!first) throw new CommandError(`an agent of this app makes no request: ${error?.message ?? 'its turn was stopped'}`)
    return explainRequest(events, first)
  } finally {
    await agent.dispose()
  }
}

/** The methods of a store; the compiler checks that none is missing. */
const CALLS: Readonly<Record<Exclude<keyof SessionStore, 'location'>, true>> = {
  create: true, lease: true, load: true, read: true, follow: true, post: true, letters: true, card: true, list: true, remove: true,
  putBlob: true, getBlob: true,
}

/** Redirects a store to memory by replacing each of its methods: the registry that holds the store is out of reach. */
function keepNothing(store: SessionStore): void {
  const memory = new MemoryStore()
  for (const name of Object.keys(CALLS) as (keyof typeof CALLS)[]) Object.defineProperty(store, name, { value: memory[name].bind(memory) })
}

async function* answer(): AsyncGenerator<Chunk> {
  yield { type: 'text', text: '.' }
  yield { type: 'finish', reason: 'stop' }
}
