import type { Agent } from '@headrace/agent'
import { newSessionId } from '@headrace/agent/internal'
import { defined, isA } from '@headrace/message'
import { SessionBusyError, SessionExistsError, type SessionStore, checkSessionId } from '@headrace/session'
import type { Context } from 'cordis'
import { isBusy } from './idle.ts'
import { type DeskParts, Life, closed } from './life.ts'
import type { OpenOptions, Seat, SeatForkOptions, SeatRequest } from './seat.ts'
import { SeatView, viewOf } from './seat-view.ts'

/** The sessions of an app that somebody uses, by id. */
export class Desk {
  private readonly parts: DeskParts
  private readonly lives = new Map<string, Life>()
  /** Calls that end an attendance, by what it is for: the session that a person sits at, and what stands under it. */
  private readonly attended = new Set<{ readonly id: string; readonly ends: (() => void)[] }>()

  constructor(parts: DeskParts) {
    this.parts = parts
    parts.closing.addEventListener('abort', () => {
      for (const life of this.lives.values()) life.close()
    }, { once: true })
    parts.ctx.on('session/event', (agent, event) => {
      // Its maker says so before it is given anything.
      if (event.type === 'agent/child' && this.attended.size > 0) this.attendChild(agent, event.data.session)
    })
  }

  get closing(): AbortSignal {
    return this.parts.closing
  }

  /** Tells who waits for something of a session when the desk goes. Returns the call that ends that. */
  onClose(id: string, fail: (error: unknown) => void): () => void {
    const tell = (): void => fail(closed(id))
    if (this.closing.aborted) tell()
    else this.closing.addEventListener('abort', tell, { once: true })
    return () => this.closing.removeEventListener('abort', tell)
  }

  store(): SessionStore {
    return this.parts.store()
  }

  lifeOf(id: string): Life {
    const known = this.lives.get(id)
    if (known) return known
    for (const [other, life] of this.lives) if (!life.isUsed) this.lives.delete(other)
    const life = new Life(id, this.parts)
    this.lives.set(id, life)
    return life
  }

  get live(): readonly string[] {
    return [...this.lives.values()].flatMap(({ id, agent }) => (agent ? [id] : []))
  }

  async open(caller: Context, request: SeatRequest, options: OpenOptions): Promise<Seat> {
    const id = typeof request === 'string' ? request : request.id ?? newSessionId()
    checkSessionId(id)
    const life = this.lifeOf(id)
    await life.alone(async () => {
      const { setup, drive = true, turn } = options
      if (typeof request !== 'string' && life.agent) throw new SessionExistsError(id)
      if (setup) await life.addGuest(setup, (agent) => viewOf(caller, agent))
      try {
        if (typeof request !== 'string') {
          await life.start({}, (hooks) => this.parts.ctx.agents.create({ ...defined({ ...request }), id, ...hooks }))
        } else if (drive) await life.start({ ...(turn && { turn }) })
        else await this.store().card(id)
      } catch (error) {
        if (typeof request === 'string' && isA(error, SessionBusyError)) return
        if (setup) life.dropGuest(setup)
        throw error
      }
    })
    const { setup } = options
    if (setup) caller.effect(() => () => life.dropGuest(setup), 'ctx.desk.open()')
    return new SeatView(id, this, caller)
  }

  async fork(caller: Context, parent: string, options: SeatForkOptions): Promise<Seat> {
    const id = options.id ?? newSessionId()
    const life = this.lifeOf(id)
    await life.alone(async () => {
      if (life.agent) throw new SessionExistsError(id)
      await life.start({}, (hooks) => this.parts.ctx.agents.fork(parent, { ...options, id, ...hooks }))
    })
    return new SeatView(id, this, caller)
  }

  async remove(id: string): Promise<void> {
    const life = this.lifeOf(id)
    await life.alone(async () => {
      if (life.agent && isBusy(this.parts.ctx, life.agent)) throw new SessionBusyError(id, 'this process, where it is at work')
      await life.park()
      await this.store().remove(id)
    })
  }

  /** The agents of this process that work for a session: its own, and those of sessions under it. */
  below(id: string): readonly Agent[] {
    const { agents } = this.parts.ctx
    return agents.ids().flatMap((other) => {
      const agent = agents.get(other)
      return agent && this.above(agent).includes(id) ? [agent] : []
    })
  }

  /** Answers are given at a session, and at those under it. Returns the call that ends that. */
  attend(id: string): () => void {
    const { agents } = this.parts.ctx
    const ids = new Set([id, ...this.below(id).map((agent) => agent.id)])
    const one = { id, ends: [...ids].map((session) => agents.attend(session)) }
    this.attended.add(one)
    return () => {
      this.attended.delete(one)
      for (const end of one.ends) end()
    }
  }

  private attendChild(maker: Agent, child: string): void {
    const above = this.above(maker)
    for (const one of this.attended) if (above.includes(one.id)) one.ends.push(this.parts.ctx.agents.attend(child))
  }

  /** The ids of an agent's session, and of those that it stands under. */
  private above(agent: Agent): readonly string[] {
    const ids: string[] = []
    for (let at: Agent | undefined = agent; at && !ids.includes(at.id);) {
      ids.push(at.id)
      const under: string | undefined = at.session.origin?.under?.session
      at = under === undefined ? undefined : this.parts.ctx.agents.get(under)
    }
    return ids
  }
}
