import * as agentPlugin from '@headrace/agent'
import { MemoryStore, type SessionEvent, type SessionStore } from '@headrace/session'
import { until } from '@headrace/testing/gate'
import { type Script, type ScriptedAdapter, scriptedAdapter } from '@headrace/testing'
import { Context, type Plugin } from 'cordis'
import { onTestFinished } from 'vitest'
import * as desk from '../src/index.ts'
import type { Seat, SeatChange, SeatFollowOptions } from '../src/index.ts'

/** An app with a desk and a scripted model, `scripted/model`. */
export interface App {
  readonly ctx: Context
  readonly store: SessionStore
  readonly model: ScriptedAdapter
  dispose(): Promise<void>
}

export interface AppOptions {
  readonly script?: Script
  readonly store?: SessionStore
  readonly config?: Partial<desk.Config>
  /** In front of the desk. */
  readonly plugins?: readonly Plugin[]
}

export async function app({ script = ['ok'], store = new MemoryStore(), config = {}, plugins = [] }: AppOptions = {}): Promise<App> {
  const ctx = new Context()
  let over: Promise<void> | undefined
  const dispose = (): Promise<void> => (over ??= ctx.fiber.dispose())
  onTestFinished(dispose)
  await ctx.plugin(agentPlugin, { strict: true, quiet: true })
  ctx.sessions.store(store)
  const model = scriptedAdapter(script)
  ctx.llm.adapter('scripted', model)
  for (const plugin of plugins) await ctx.plugin(plugin, {})
  await ctx.plugin(desk, config)
  return { ctx, store, model, dispose }
}

/** The log of a session. */
export async function eventsOf(store: SessionStore, id: string): Promise<readonly SessionEvent[]> {
  const list: SessionEvent[] = []
  for await (const batch of store.load(id)) list.push(...batch)
  return list
}

/** Waits until the log has so many events of a type, and gives them. */
export function untilLogged<T extends SessionEvent['type']>(store: SessionStore, id: string, type: T, count = 1): Promise<readonly SessionEvent<T>[]> {
  return until(async () => {
    const found = (await eventsOf(store, id)).filter((event) => event.type === type) as unknown as SessionEvent<T>[]
    return found.length >= count && found
  }, `${count} ${type}`)
}

/** Follows a seat until the test ends. */
export class Reader {
  readonly told: SeatChange[] = []
  /** Resolves when the iteration is over. */
  readonly over: Promise<void>
  readonly end: () => void

  constructor(seat: Seat, options: SeatFollowOptions = {}) {
    const controller = new AbortController()
    this.end = () => controller.abort()
    onTestFinished(this.end)
    this.over = this.read(seat.follow({ ...options, signal: controller.signal }))
    this.over.catch(() => undefined)
  }

  get events(): readonly SessionEvent[] {
    return this.told.flatMap((change) => (change.type === 'append' ? change.events : []))
  }

  /** Of the newest append. */
  get cursor(): Extract<SeatChange, { type: 'append' }>['cursor'] | undefined {
    return this.told.findLast((change) => change.type === 'append')?.cursor
  }

  /** The text of its pieces, put together at their offsets. */
  get said(): string {
    let text = ''
    for (const change of this.told) if (change.type === 'piece') text = text.slice(0, change.piece.at) + change.piece.text
    return text
  }

  private async read(changes: AsyncIterable<SeatChange>): Promise<void> {
    for await (const change of changes) this.told.push(change)
  }
}
