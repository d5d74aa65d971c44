import type { Agent, TurnResult } from '@headrace/agent'
import type { CallConfig, ContentInput, Json, JsonObject } from '@headrace/message'
import type { Cursor, ListFilter, OpenQuestion, Piece, SessionCard, SessionEvent } from '@headrace/session'
import type { ItemChange } from './items/item.ts'

/** Which session: an id, or what a new one is made with. */
export type SeatRequest = string | {
  /** Default: made of the time and a random part. */
  readonly id?: string
  readonly cwd?: string
  /** `provider/name`. */
  readonly model?: string
  readonly title?: string
  readonly config?: Partial<CallConfig>
}

/** Options of `ctx.desk.open()`. */
export interface OpenOptions {
  /**
   * Called at the beginning of each life of the agent in this process, before it does anything; at once where it lives already. What it
   * returns is called at its end. The same function counts once a seat; it goes with the plugin that gave it.
   */
  readonly setup?: (agent: Agent) => void | (() => void) | Promise<void | (() => void)>
  /** `close` ends a turn that was cut off as `lost`; default: it goes on. */
  readonly turn?: 'continue' | 'close'
  /** `false` only looks: the session is driven by the next call that needs it. Default: it is driven, and what waits in it is done. */
  readonly drive?: boolean
}

/** Options of `ctx.desk.fork()`. */
export interface SeatForkOptions {
  /** The last event that it has of its parent. Default: the newest. */
  readonly at?: number
  readonly id?: string
  readonly cwd?: string
}

/** Options of `seat.send()`. */
export interface SendOptions {
  /** For the running turn, at its next boundary; a prompt where none runs. */
  readonly steer?: boolean
  /** The sender's idempotency key, 1 to 200 characters: what was sent with it is taken once. */
  readonly key?: string
  readonly config?: Partial<CallConfig>
  readonly output?: JsonObject
}

/** What was sent, durably. */
export interface Sent {
  /** The letter; absent where the key is that of a prompt which came by none. */
  readonly letter?: string
  /** True where the same had been sent with that key. */
  readonly repeated?: true
  /** The seq of its `prompt/queued`, once a process that drives the session has taken it. Rejects where it was refused. */
  readonly logged: Promise<number>
  /** What became of its turn; never rejects while the session can be read. */
  readonly result: Promise<SentResult>
}

/** The turn's result as the log has it, wherever it ran. */
export type SentResult = Pick<TurnResult, 'reason' | 'error' | 'finish' | 'text' | 'usage' | 'steps'> & {
  /** Absent where the prompt was withdrawn. */
  readonly turn?: number
}

/** A question that waits, of the session or of one under it. */
export interface SeatQuestion extends OpenQuestion {
  /** Whose log it stands in. */
  readonly session: string
}

/** What a seat tells. */
export type SeatChange =
  /** Appended together, durable. */
  | { readonly type: 'append'; readonly events: readonly SessionEvent[]; readonly cursor: Cursor }
  /** Said live in this process, and in no log yet. */
  | { readonly type: 'piece'; readonly piece: Piece }
  /** The log is another than it was: what was told does not count; events follow from the first on. */
  | { readonly type: 'reset' }

/** The same as items. Changes with an append come with its cursor and its events. */
export type SeatItems =
  | { readonly type: 'items'; readonly changes: readonly ItemChange[]; readonly cursor?: Cursor; readonly events?: readonly SessionEvent[] }
  | { readonly type: 'reset' }

/** Options of `seat.follow()` and `seat.items()`. */
export interface SeatFollowOptions {
  /** Goes on behind this; default: from the first event on. */
  readonly from?: Cursor
  readonly signal?: AbortSignal
}

/**
 * A session as people and programs use it. It outlives its agent: where the session is not driven, the next call drives it, in this process
 * or, where another has it, there.
 */
export interface Seat {
  readonly id: string
  /** `here`: its agent lives in this process. `elsewhere`: another process drives it. `parked`: nobody does. */
  readonly state: 'here' | 'elsewhere' | 'parked'
  /** The agent, while it is here. */
  readonly agent: Agent | undefined
  /** Queues input, durably. Drives the session where nobody does. @throws KeyTakenError, StoreError, MessageError */
  send(input: ContentInput, options?: SendOptions): Promise<Sent>
  /** What was appended from the cursor on, then appends and pieces as they come. */
  follow(options?: SeatFollowOptions): AsyncIterable<SeatChange>
  /** The same as changes of items; the first brings those that stand behind the cursor. */
  items(options?: SeatFollowOptions): AsyncIterable<SeatItems>
  /** What waits for an answer, also of sessions under this one that are driven in this process. */
  readonly questions: readonly SeatQuestion[]
  /**
   * Answers a question, signed `user`; durable when it resolves. The first answer in the log counts.
   *
   * @throws AgentError `QUESTION_CLOSED`, `ANSWER_INVALID`; StoreError
   */
  answer(question: number | SeatQuestion, answer: Json, options?: { readonly remember?: Json }): Promise<void>
  /** Ends a turn (default: the one that runs); does nothing to another. Durable when it resolves. */
  cancel(turn?: number, reason?: string): Promise<void>
  /** Takes back a prompt that waits; false where it was taken meanwhile. */
  withdraw(prompt: number, reason?: string): Promise<boolean>
  /** Says that a person sits here and answers questions. Returns the call that ends that. */
  attend(): () => void
  /** Drives the session here and gives its agent. @throws SessionBusyError where another process has it */
  drive(): Promise<Agent>
  /** Gives the session back, with its turn open, as for a process that goes down. */
  park(): Promise<void>
  /** The session at a glance. @throws SessionNotFoundError, StoreError */
  card(): Promise<SessionCard>
}

/** `ctx.desk`: sessions of an app, one agent each, shared by all doors, opened when they are needed and parked when idle. */
export interface DeskService {
  /** A seat at a session that is there, or at a new one. @throws SessionNotFoundError, SessionExistsError, StoreError */
  open(session: SeatRequest, options?: OpenOptions): Promise<Seat>
  /** A session with another's log up to an event. */
  fork(parent: string, options?: SeatForkOptions): Promise<Seat>
  /** Cards, newest change first. */
  list(filter?: ListFilter): AsyncIterable<SessionCard>
  /** Seats of this process that are driven here. */
  readonly live: readonly Seat[]
  /** Removes a session. @throws SessionBusyError, SessionNotFoundError */
  remove(id: string): Promise<void>
}

