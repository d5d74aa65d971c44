import { createHash, randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ContentInput } from '@headrace/message'
import type { Seat, SendOptions, Sent } from '@headrace/desk'
import { type SessionCard, isSessionId } from '@headrace/session'
import type { Context } from 'cordis'
import type { HandlerSettings } from './options.ts'
import { Problem, noSession } from './problem.ts'

/** The most sessions in a list, the newest first. */
const LISTED = 100

/** What a session may be begun with. */
export interface NewSession {
  readonly id?: string
  readonly title?: string | undefined
  readonly model?: string | undefined
}

/**
 * Sessions of many users. With workspaces a session's id is `<user>.<rest>`: the owner is known from the id alone, so that another user's
 * session and a missing one are refused in the same way. Without them there is one user, who has all sessions of the app.
 */
export class UserSessions {
  private readonly ctx: Context
  private readonly settings: HandlerSettings
  /** Turns that run or wait, by session and key, and whose they are. */
  private readonly turns = new Map<string, { readonly user: string; readonly result: Promise<unknown> }>()
  private readonly streams = new Map<string, number>()
  /** Sessions at which somebody sits, how often, and the call that ends it. */
  private readonly attended = new Map<string, { count: number; readonly leave: () => void }>()
  draining = false

  constructor(ctx: Context, settings: HandlerSettings) {
    this.ctx = ctx
    this.settings = settings
  }

  get running(): number {
    return this.turns.size
  }

  /** Sessions that somebody uses here. */
  get used(): number {
    return this.attended.size
  }

  /** @throws Problem while the server goes down */
  checkOpen(): void {
    if (this.draining) throw new Problem(503, 'DRAINING', 'this server goes down; ask again', 2)
  }

  /** A user's session, as a seat. Nothing is driven by it. @throws Problem, and what the desk throws */
  async open(user: string, id: string): Promise<Seat> {
    return this.ctx.desk.open(this.idOf(user, id), { drive: false })
  }

  /** The session's id in the store. @throws Problem for an id that cannot be the user's */
  idOf(user: string, id: string): string {
    const whole = this.settings.workspaces === undefined || id.startsWith(`${user}.`) ? id : `${user}.${id}`
    if (!isSessionId(whole)) throw noSession()
    return whole
  }

  /** Begins a session; with a key, the same one for the same key. @throws Problem, and what the desk throws */
  async create(user: string, { id, title, model }: NewSession, key?: string): Promise<Seat> {
    this.checkOpen()
    const mine = this.idOf(user, id ?? (key === undefined ? randomBytes(16).toString('hex') : digestOf(user, key)))
    try {
      return await this.ctx.desk.open(mine, { drive: false })
    } catch (error) {
      if (codeOf(error) !== 'SESSION_NOT_FOUND') throw error
    }
    let count = 0
    for await (const _ of this.cards(user)) count++
    if (count >= this.settings.sessionsPerUser) throw new Problem(429, 'TOO_MANY_SESSIONS', `you have ${count} sessions; remove one`)
    const cwd = await this.folderOf(user)
    try {
      return await this.ctx.desk.open({ id: mine, cwd, ...(title !== undefined && { title }), ...(model !== undefined && { model }) })
    } catch (error) {
      // Somebody asked twice at once.
      if (codeOf(error) === 'SESSION_EXISTS') return this.ctx.desk.open(mine, { drive: false })
      throw error
    }
  }

  async remove(user: string, id: string): Promise<void> {
    await this.open(user, id)
    await this.ctx.desk.remove(this.idOf(user, id))
  }

  /** Sends a prompt. Durable when it resolves. @throws Problem, and what `seat.send` throws */
  async send(user: string, seat: Seat, input: ContentInput, options: SendOptions): Promise<Sent> {
    this.checkOpen()
    // What is sent again is the same turn.
    const turn = `${seat.id} ${options.key ?? randomBytes(8).toString('hex')}`
    const mine = [...this.turns.values()].filter((other) => other.user === user).length
    if (!this.turns.has(turn) && mine >= this.settings.turnsPerUser) throw new Problem(429, 'TOO_MANY_TURNS', `you have ${mine} turns that run or wait; wait for one to end`, 5)
    const leave = this.attend(seat)
    try {
      const sent = await seat.send(input, options)
      const { result } = sent
      this.turns.set(turn, { user, result })
      void result.finally(() => {
        if (this.turns.get(turn)?.result === result) this.turns.delete(turn)
        leave()
      })
      return sent
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Somebody sits at the session, and answers its questions. Returns the call that ends that. */
  attend(seat: Seat): () => void {
    const one = this.attended.get(seat.id) ?? { count: 0, leave: seat.attend() }
    one.count++
    this.attended.set(seat.id, one)
    let over = false
    return () => {
      if (over) return
      over = true
      if (--one.count > 0) return
      this.attended.delete(seat.id)
      one.leave()
    }
  }

  /** Takes one of a user's streams. Returns the call that gives it back. @throws Problem */
  stream(user: string): () => void {
    this.checkOpen()
    const open = this.streams.get(user) ?? 0
    if (open >= this.settings.streamsPerUser) throw new Problem(429, 'TOO_MANY_STREAMS', `you have ${open} open streams; close one`, 5)
    this.streams.set(user, open + 1)
    return () => {
      const left = this.streams.get(user)! - 1
      if (left > 0) this.streams.set(user, left)
      else this.streams.delete(user)
    }
  }

  /** Goes on with what was begun or waits in a session that nobody drives. Never waits, never fails. */
  async wake(seat: Seat): Promise<void> {
    if (this.draining || seat.state === 'here') return
    try {
      const { state, queued } = await seat.card()
      if (state === 'parked' || queued > 0) await this.ctx.desk.open(seat.id)
    } catch {
      // Whoever asks for more of it is told why.
    }
  }

  async list(user: string): Promise<readonly SessionCard[]> {
    const mine: SessionCard[] = []
    for await (const card of this.cards(user)) {
      mine.push(card)
      if (mine.length === LISTED) break
    }
    return mine
  }

  /** Accepts nothing new, and gives running turns their grace period. */
  async drain(): Promise<void> {
    this.draining = true
    let timer: NodeJS.Timeout | undefined
    const grace = new Promise<void>((resolve) => (timer = setTimeout(resolve, this.settings.grace)))
    await Promise.race([Promise.allSettled([...this.turns.values()].map(({ result }) => result)), grace])
    clearTimeout(timer)
  }

  private async *cards(user: string): AsyncGenerator<SessionCard> {
    const { workspaces } = this.settings
    // From the cards of the user's own workspace only.
    const filter = workspaces === undefined ? undefined : { cwd: await this.folderOf(user) }
    for await (const card of this.ctx.desk.list(filter)) if (workspaces === undefined || card.id.startsWith(`${user}.`)) yield card
  }

  private async folderOf(user: string): Promise<string> {
    const { workspaces, cwd } = this.settings
    if (workspaces === undefined) return cwd
    const folder = join(workspaces, user)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return folder
  }
}

function digestOf(user: string, key: string): string {
  return createHash('sha256').update(`${user}\n${key}`).digest('hex').slice(0, 32)
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | null)?.code
}
