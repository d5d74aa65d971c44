import { textOf } from '@headrace/message'
import type { CallRef, EventMap, SessionEvent, TurnReason } from '../event.ts'
import { type Cursor, cursorOf } from '../sum.ts'

/**
 * A session at a glance, from its store and not from its log. It is as of `at`: the newest turn, question or title, not the newest event,
 * where somebody writes on.
 */
export interface SessionCard {
  readonly id: string
  /** When its log changed last, in milliseconds since the epoch. */
  readonly modified: number
  /** Bytes of its events. */
  readonly size: number
  /** `running` and `asks` only where somebody holds it; `parked`: a turn is open, and nobody has it. */
  readonly state: 'idle' | 'running' | 'asks' | 'parked'
  /** Who holds its lease, in words. */
  readonly holder?: string
  /** The event it was made at; absent while the log has none. */
  readonly at?: Cursor
  /** The data of its `session/open`, but for the seed: folder, maker, kind. */
  readonly open?: CardOpen
  /** The newest that was given. */
  readonly title?: string
  /** The beginning of its first prompt. */
  readonly prompt?: string
  /** The newest turn, and how it ended. */
  readonly turn?: { readonly number: number; readonly reason?: TurnReason }
  /** Questions that wait for an answer. */
  readonly asks: readonly CardQuestion[]
  /** Prompts that wait. */
  readonly queued: number
  /** Why its log cannot be read. */
  readonly error?: string
}

/** What a card has of `session/open`: all but the seed. */
export type CardOpen = Omit<EventMap['session/open'], 'seed'>

/** An open question: its seq, and the call it is about. */
export interface CardQuestion extends CallRef {
  readonly question: number
}

/** What a card says of a log's events: plain JSON, kept and gone on from. */
export interface CardState {
  readonly at?: Cursor
  readonly open?: CardOpen
  readonly title?: string
  readonly prompt?: string
  readonly turn?: { readonly number: number; readonly reason?: TurnReason; readonly prompt?: number }
  readonly asks: readonly CardQuestion[]
  readonly queued: number
}

/** What a store itself knows of a session. */
export interface CardFacts {
  readonly id: string
  readonly modified: number
  readonly size: number
  readonly holder?: string | undefined
}

/** UTF-16 units of a prompt that a card has. */
const PROMPT = 200

/** The events after which a card is written. */
const TOLD: ReadonlySet<string> = new Set(['session/open', 'session/title', 'turn/start', 'turn/end', 'question/asked', 'question/answered'])

/** Makes a session's card, one event at a time. It judges nothing: a log that is wrong gives a card that is. */
export class CardFold {
  private state: CardState
  private last: { readonly event: SessionEvent; readonly json: string | undefined } | undefined

  constructor(state: CardState = { asks: [], queued: 0 }) {
    this.state = state
  }

  /**
   * Takes an event; true where the card is to be written once this is durable.
   *
   * @param json its exact JSON, where it is at hand
   */
  take(event: SessionEvent, json?: string): boolean {
    this.last = { event, json }
    const change = changeOf(this.state, event)
    if (change) this.state = { ...this.state, ...change }
    return TOLD.has(event.type)
  }

  /** As of the event that was taken last. */
  stateIn(id: string): CardState {
    if (this.last) {
      this.state = { ...this.state, at: cursorOf(id, this.last.event, this.last.json) }
      this.last = undefined
    }
    return this.state
  }
}

function changeOf(state: CardState, { seq, type, data }: SessionEvent): Partial<CardState> | undefined {
  switch (type) {
    case 'session/open': {
      const { seed: _, ...open } = data
      const { title } = data
      return { open, ...(title !== undefined && { title }) }
    }
    case 'session/title': return { title: data.title }
    case 'prompt/queued': return { queued: state.queued + 1, ...(state.prompt === undefined && { prompt: textOf(data.input).slice(0, PROMPT) }) }
    case 'prompt/withdrawn': return { queued: Math.max(0, state.queued - 1) }
    case 'turn/start': {
      const { turn: number, prompt } = data
      return {
        turn: { number, ...(prompt !== undefined && { prompt }) },
        ...(prompt !== undefined && { queued: Math.max(0, state.queued - 1) }),
      }
    }
    // A turn's own prompt left the queue with its start; another is a steer.
    case 'user/message': return data.prompt === state.turn?.prompt ? undefined : { queued: Math.max(0, state.queued - 1) }
    case 'turn/end': return { turn: { number: data.turn, reason: data.reason }, asks: [] }
    case 'question/asked': return { asks: [...state.asks, { question: seq, assistant: data.assistant, index: data.index }] }
    case 'question/answered': return { asks: state.asks.filter(({ question }) => question !== data.question) }
    case 'tool/result': {
      if (state.asks.length === 0) return undefined
      return { asks: state.asks.filter(({ assistant, index }) => assistant !== data.assistant || index !== data.index) }
    }
    default: return undefined
  }
}

/** A card, from what its events say and what the store knows. */
export function cardOf({ id, modified, size, holder }: CardFacts, { turn, ...state }: CardState): SessionCard {
  const open = turn !== undefined && turn.reason === undefined
  const held = state.asks.length > 0 ? 'asks' : open ? 'running' : 'idle'
  const { number, reason } = turn ?? {}
  return {
    id,
    modified,
    size,
    state: holder !== undefined ? held : open ? 'parked' : 'idle',
    ...(holder !== undefined && { holder }),
    ...state,
    ...(number !== undefined && { turn: { number, ...(reason !== undefined && { reason }) } }),
  }
}

/** The card of a log that cannot be read. @param known what an older card says: whose it is, and where */
export function brokenCard({ id, modified, size, holder }: CardFacts, error: string, known?: CardState): SessionCard {
  const { open, title, prompt } = known ?? {}
  return {
    id,
    modified,
    size,
    state: 'idle',
    ...(holder !== undefined && { holder }),
    ...(open && { open }),
    ...(title !== undefined && { title }),
    ...(prompt !== undefined && { prompt }),
    asks: [],
    queued: 0,
    error,
  }
}

/** A card's state from its JSON; undefined where it is none. */
export function parseCardState(value: unknown): CardState | undefined {
  const state = value as CardState | null | undefined
  const isOne = typeof state === 'object' && state !== null && Array.isArray(state.asks) && Number.isSafeInteger(state.queued)
  return isOne ? state : undefined
}
