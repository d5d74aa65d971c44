import type { Agent, ResumeOptions } from '@headrace/agent'
import { AgentError } from '@headrace/agent'
import { isA, messageOf } from '@headrace/message'
import { SessionBusyError, type SessionStore } from '@headrace/session'
import type { Context } from 'cordis'
import { idleSince, isBusy } from './idle.ts'
import type { OpenOptions } from './seat.ts'
import type { PieceListener } from './told.ts'

/** What the sessions of a desk share. */
export interface DeskParts {
  /** The desk's own: its agents live there, so they outlive the doors. */
  readonly ctx: Context
  /** Milliseconds after which an agent that has nothing to do is parked. */
  readonly idle: number
  /** Aborted when the desk goes. */
  readonly closing: AbortSignal
  /** The store in use now. */
  store(): SessionStore
}

/** What is called at the beginning of each life. */
export type Setup = NonNullable<OpenOptions['setup']>

/** A door's setup: the agent as its plugin sees it, and what is called at the end of the life. */
interface Guest {
  readonly view: (agent: Agent) => Agent
  leave: (() => void) | undefined
}

/** Milliseconds between two looks at whether somebody drives a session that is waited for, at first and at most. */
const [LOOK, LONGEST] = [500, 5_000]

/** One session on the desk: drives it in this process, one life after another. What begins or ends a life is done one at a time. */
export class Life {
  readonly id: string
  /** The desk's view of the agent, while it is here. */
  agent: Agent | undefined
  /** Another process had it when somebody looked last. */
  isElsewhere = false
  private readonly desk: DeskParts
  private readonly guests = new Map<Setup, Guest>()
  private readonly listeners = new Map<PieceListener, (() => void) | undefined>()
  private readonly waiters = new Set<(error: unknown) => void>()
  private moving: Promise<unknown> = Promise.resolve()
  private moves = 0
  /** The app made the agent, not the desk: it takes no prompts by letter. */
  private isGuest = false
  private isAsked = false
  private idleTimer: NodeJS.Timeout | undefined
  private lookTimer: NodeJS.Timeout | undefined
  private nextLook = LOOK

  constructor(id: string, desk: DeskParts) {
    this.id = id
    this.desk = desk
  }

  /** True while something would be lost with it. */
  get isUsed(): boolean {
    const isWaitedFor = this.guests.size + this.listeners.size + this.waiters.size > 0 || this.lookTimer !== undefined
    return this.agent !== undefined || this.moves > 0 || this.isElsewhere || isWaitedFor
  }

  /** Does something while no life begins or ends. */
  alone<T>(act: () => Promise<T>): Promise<T> {
    this.moves++
    const done = this.moving.then(act).finally(() => this.moves--)
    this.moving = done.catch(() => undefined)
    return done
  }

  /** Drives the session here: wakes what it has to do. @throws SessionBusyError, SessionNotFoundError, StoreError */
  drive(options: Pick<ResumeOptions, 'turn'> = {}): Promise<Agent> {
    return this.alone(() => this.start(options))
  }

  /** The same inside of {@link alone}. @param open begins the life; default: a resume */
  async start(
    options: Pick<ResumeOptions, 'turn'> = {},
    open = (hooks: Pick<ResumeOptions, 'mail' | 'setup'>): Promise<Agent> => this.desk.ctx.agents.resume(this.id, { ...options, ...hooks }),
  ): Promise<Agent> {
    if (this.agent) return this.agent
    const { closing, ctx } = this.desk
    if (closing.aborted) throw new AgentError('DESK_CLOSED', `session ${this.id} is not driven any more: its app goes down; the next process goes on with it`)
    const other = ctx.agents.get(this.id)
    if (other) return this.adopt(other)
    try {
      const agent = await open({ mail: true, setup: (agent) => this.begin(agent) })
      agent.wake()
      return agent
    } catch (error) {
      if (isA(error, SessionBusyError)) this.isElsewhere = true
      throw error
    }
  }

  /**
   * Sees to it that somebody drives the session: here, or where it is already. What goes wrong is told to who waits.
   */
  async reach(): Promise<void> {
    try {
      await this.drive()
    } catch (error) {
      if (!isA(error, SessionBusyError)) this.fail(error)
      // Its holder may be killed before it takes what was posted.
    }
    if (!this.agent || this.isGuest) this.lookLater()
  }

  /** Gives the session back, if the desk has it. @param asked nobody goes on with it until the next call */
  async park(asked = true): Promise<void> {
    const { agent } = this
    if (!agent || this.isGuest) return
    this.isAsked = asked
    await agent.park()
  }

  /** Adds a setup; where the agent is here it is called now. To be called inside of {@link alone}. */
  async addGuest(setup: Setup, view: (agent: Agent) => Agent): Promise<void> {
    if (this.guests.has(setup)) return
    const guest = { view, leave: undefined }
    this.guests.set(setup, guest)
    if (this.agent) await this.welcome(setup, guest, this.agent)
  }

  dropGuest(setup: Setup): void {
    const guest = this.guests.get(setup)
    this.guests.delete(setup)
    if (guest) this.dismiss(guest)
  }

  /** Tells pieces of this life and of later ones. Returns the call that ends that. */
  listen(listener: PieceListener): () => void {
    this.listeners.set(listener, this.subscribe(listener))
    return () => {
      this.listeners.get(listener)?.()
      this.listeners.delete(listener)
    }
  }

  /** Somebody waits for what the log says next: while nobody drives the session, it is driven here. @param fail told why that fails */
  wait(fail: (error: unknown) => void): () => void {
    this.waiters.add(fail)
    if (this.desk.closing.aborted) fail(closed(this.id))
    else if (!this.agent || this.isGuest) this.lookLater()
    return () => void this.waiters.delete(fail)
  }

  /** An agent that the app made itself. */
  private async adopt(agent: Agent): Promise<Agent> {
    this.isGuest = true
    agent.ctx.effect(() => () => this.end(agent), 'ctx.desk')
    await this.begin(agent)
    return agent
  }

  private async begin(agent: Agent): Promise<() => void> {
    this.agent = agent
    this.isElsewhere = false
    this.isAsked = false
    this.nextLook = LOOK
    clearTimeout(this.lookTimer)
    this.lookTimer = undefined
    for (const listener of this.listeners.keys()) this.listeners.set(listener, this.subscribe(listener))
    try {
      for (const [setup, guest] of this.guests) await this.welcome(setup, guest, agent)
    } catch (error) {
      this.end(agent)
      throw error
    }
    if (!this.isGuest) this.watchIdle(agent)
    return () => this.end(agent)
  }

  private subscribe(listener: PieceListener): (() => void) | undefined {
    return this.agent?.session.on('piece', (piece) => listener.piece(piece))
  }

  private async welcome(setup: Setup, guest: Guest, agent: Agent): Promise<void> {
    const leave = await setup(guest.view(agent))
    if (typeof leave !== 'function') return
    guest.leave = leave
    // The door, or the life, ended meanwhile.
    if (this.guests.get(setup) !== guest || this.agent !== agent) this.dismiss(guest)
  }

  private dismiss(guest: Guest): void {
    const { leave } = guest
    guest.leave = undefined
    try {
      leave?.()
    } catch (error) {
      this.desk.ctx.logger('headrace').warn('session %s: the end of a setup failed: %s', this.id, messageOf(error))
    }
  }

  private end(agent: Agent): void {
    if (this.agent !== agent) return
    const [isGuest, isAsked] = [this.isGuest, this.isAsked]
    this.agent = undefined
    this.isGuest = false
    clearTimeout(this.idleTimer)
    for (const guest of this.guests.values()) this.dismiss(guest)
    for (const [listener, off] of this.listeners) {
      off?.()
      listener.over()
    }
    // The next life waits until the session is given back.
    const gone = isGuest ? agent.idle() : agent.park()
    void this.alone(() => gone.catch(() => undefined)).then(() => {
      if (!isAsked) this.lookLater(isGuest || this.waiters.size > 0 ? this.nextLook : 0)
    })
  }

  private watchIdle(agent: Agent): void {
    const { ctx, idle } = this.desk
    let last = Date.now()
    agent.session.on('event', () => (last = Date.now()))
    const look = (): void => {
      if (this.agent !== agent) return
      if (isBusy(ctx, agent)) last = Date.now()
      const left = idleSince(last, idle)
      if (left <= 0) void this.park(false).catch((error: unknown) => ctx.logger('headrace').warn('session %s: %s', this.id, messageOf(error)))
      else this.idleTimer = setTimeout(look, left).unref()
    }
    look()
  }

  /** Looks whether a letter waits, or somebody, and drives the session then; again and again while another process has it. */
  private lookLater(after = this.nextLook): void {
    if (this.lookTimer || this.desk.closing.aborted) return
    this.nextLook = Math.min(this.nextLook * 2, LONGEST)
    this.lookTimer = setTimeout(() => {
      this.lookTimer = undefined
      void this.isWaitedFor().then((waited) => {
        if (waited && (!this.agent || this.isGuest)) void this.reach()
      })
    }, after).unref()
  }

  private async isWaitedFor(): Promise<boolean> {
    if (this.waiters.size > 0) return true
    // Gone, or not to be read: the next call tells why.
    return this.desk.store().letters(this.id).then((letters) => letters.length > 0, () => false)
  }

  private fail(error: unknown): void {
    this.desk.ctx.logger('headrace').warn('session %s cannot be driven: %s', this.id, messageOf(error))
    for (const waiter of [...this.waiters]) waiter(error)
  }

  /** The desk goes. */
  close(): void {
    clearTimeout(this.idleTimer)
    clearTimeout(this.lookTimer)
    for (const waiter of [...this.waiters]) waiter(closed(this.id))
  }
}

/** What who waits is told when the desk goes. */
export function closed(id: string): AgentError {
  return new AgentError('DESK_CLOSED', `session ${id} is not followed any more: its app goes down; what was sent stands in its log, or waits for it`)
}
