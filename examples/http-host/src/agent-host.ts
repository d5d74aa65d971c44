import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Agent, TurnHandle } from '@headrace/agent'
import type { Context } from 'cordis'
import type { Config } from './config.ts'
import { Problem, noSession, problemOf } from './problem.ts'
import { Seat } from './seat.ts'

/** What a list shows a user of a session. */
export interface Listed {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly modified: number
  readonly running: boolean
}

/** The most sessions in a list, the newest first. */
const LISTED = 100

/**
 * Agents of many users. A session's id is `<user>.<128 random bits>`: the owner is known from the id alone, so another
 * user's session and a missing one are refused in the same way.
 */
export class AgentHost {
  private readonly ctx: Context
  private readonly config: Config
  private readonly seats = new Map<string, Seat>()
  /** Sessions that are being opened or closed: requests for one wait. */
  private readonly moving = new Map<string, Promise<unknown>>()
  /** Turns that run or wait, and whose they are. */
  private readonly turns = new Map<Promise<unknown>, string>()
  draining = false

  constructor(ctx: Context, config: Config) {
    this.ctx = ctx
    this.config = config
  }

  get running(): number {
    return this.turns.size
  }

  get sessions(): number {
    return this.seats.size
  }

  /** Whether an agent is one of ours. */
  has(id: string): boolean {
    return this.seats.has(id)
  }

  /** Begins a session. @throws Problem */
  async create(user: string): Promise<string> {
    this.checkOpen()
    const id = `${user}.${randomBytes(16).toString('hex')}`
    await this.move(id, async () => this.seat(await this.ctx.agents.create({ id, cwd: await this.workspaceOf(user) }), user))
    return id
  }

  /**
   * A user's session; one that is not open here is resumed, and continues what was interrupted or is queued. @throws
   * Problem, and what a resume throws
   */
  async open(user: string, id: string): Promise<Seat> {
    if (!id.startsWith(`${user}.`) || !/^[0-9a-f]{32}$/.test(id.slice(user.length + 1))) throw noSession()
    for (;;) {
      const seat = this.seats.get(id)
      if (seat) return seat
      this.checkOpen()
      const moving = this.moving.get(id)
      if (!moving) return this.move(id, () => this.resume(user, id))
      await moving.catch(() => undefined)
    }
  }

  /** Gives a session of a user a prompt. Durable when it resolves. @throws Problem, and what `agent.prompt` throws */
  async prompt(user: string, id: string, text: string): Promise<TurnHandle> {
    const seat = await this.open(user, id)
    this.checkOpen()
    const mine = [...this.turns.values()].filter((other) => other === user).length
    if (mine >= this.config.turnsPerUser) throw new Problem(429, 'TOO_MANY_TURNS', `you have ${mine} turns that run or wait; wait for one to end`, 5)
    // Prompted through the app's view, so that the words are signed `user`. The plugin's view would sign them with the
    // plugin's name.
    const agent = this.ctx.root.agents.get(id)
    try {
      const handle = agent!.prompt(text)
      this.track(seat, handle.result)
      await handle.accepted
      return handle
    } catch (error) {
      // Its store failed, so it accepts nothing more: the next request opens it again.
      if (problemOf(error)?.status === 503) void this.leave(seat).catch(() => undefined)
      throw error
    }
  }

  async list(user: string): Promise<readonly Listed[]> {
    const mine: Listed[] = []
    // From the cards of the user's own workspace only.
    for await (const { id, modified } of this.ctx.sessions.current.list({ cwd: await this.workspaceOf(user) })) {
      if (!id.startsWith(`${user}.`)) continue
      mine.push({ id, modified, running: this.seats.get(id)?.agent.turn !== undefined })
      if (mine.length === LISTED) break
    }
    return mine
  }

  /**
   * Accepts nothing new, gives running turns a grace period, and parks what still runs then: the next process continues
   * it.
   */
  async drain(): Promise<void> {
    this.draining = true
    await Promise.allSettled(this.moving.values())
    let timer: NodeJS.Timeout | undefined
    const grace = new Promise<void>((resolve) => (timer = setTimeout(resolve, this.config.grace)))
    await Promise.race([Promise.allSettled(this.turns.keys()), grace])
    clearTimeout(timer)
    await Promise.allSettled([...this.seats.values()].map((seat) => this.leave(seat)))
  }

  /** The agents are gone or going: streams of their events end. */
  end(): void {
    this.draining = true
    for (const seat of this.seats.values()) seat.leave()
  }

  private checkOpen(): void {
    if (this.draining) throw new Problem(503, 'DRAINING', 'this server goes down; ask again', 2)
  }

  private async resume(user: string, id: string): Promise<Seat> {
    const seat = this.seat(await this.ctx.agents.resume(id, { cwd: await this.workspaceOf(user) }), user)
    // Accepted prompts are run, also those queued when the last process ended.
    seat.agent.wake()
    this.track(seat, seat.agent.idle())
    return seat
  }

  private seat(agent: Agent, user: string): Seat {
    const seat: Seat = new Seat(agent, user, { idle: this.config.idle, release: () => void this.leave(seat).catch(() => undefined) })
    this.seats.set(agent.id, seat)
    return seat
  }

  /** Counts a turn, and keeps its session here, until it ends. */
  private track(seat: Seat, turn: Promise<unknown>): void {
    const done = seat.use()
    this.turns.set(turn, seat.user)
    void turn.finally(() => {
      this.turns.delete(turn)
      done()
    })
  }

  /** Closes a session; a running turn is left open. */
  private async leave(seat: Seat): Promise<void> {
    const { id } = seat.agent
    // It may be closed already, and the session opened again.
    if (this.seats.get(id) !== seat) return
    this.seats.delete(id)
    await this.move(id, () => seat.agent.park()).finally(() => seat.leave())
  }

  private move<T>(id: string, act: () => Promise<T>): Promise<T> {
    const moving = act().finally(() => this.moving.delete(id))
    this.moving.set(id, moving)
    return moving
  }

  private async workspaceOf(user: string): Promise<string> {
    const folder = join(this.config.workspaces, user)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return folder
  }
}
