import type {
  AdapterRecord, AssistantMessage, CallConfig, Contribution, Digest, Failure, FinishReason, Json, JsonObject, Message, Owner, ToolMessage,
  Usage, UserMessage,
} from '@headrace/message'
import type { HeaderData, HeaderDeltaData } from './header.ts'

/** The version of the log's format that this package writes, and the only one it reads. */
export const LOG_VERSION = 2

/** A message and who put it there. */
export interface Signed<M extends Message = Message> {
  readonly message: M
  readonly owner: Owner
}

/** A surface entry: the seq of its event, and where an event has several messages `.part` behind it, e.g. `12` and `12.1`. */
export type EntryId = `${number}` | `${number}.${number}`

/**
 * Position of a call: the seq of its `assistant/message`, and its place among that message's calls. Ids of the model may
 * repeat; positions do not.
 */
export interface CallRef {
  readonly assistant: number
  readonly index: number
}

/** An error as a log holds it. */
export interface ErrorRecord {
  readonly code: string
  readonly message: string
  /** The plugin and the seam it came from. */
  readonly plugin?: string
  readonly seam?: string
  readonly failure?: Failure
}

/** Why a turn ended. */
export type TurnReason = 'done' | 'error' | 'limit' | 'blocked' | 'stopped' | 'cancelled' | 'lost'
/** Why the last answer of a turn ended; `empty` where it had neither text nor calls. */
export type TurnFinish = FinishReason | 'empty'
/** Why a step ended. */
export type StepReason = 'done' | 'error' | 'restep' | 'cancelled' | 'lost'
/** How a call ended. Without a result of its own it was `not-started`, or its outcome is `unknown` (L16). */
export type CallOutcome = 'done' | 'error' | 'denied' | 'not-started' | 'unknown'

/** The call of the parent session that a session was created for. */
export interface Under {
  readonly session: string
  readonly call: CallRef
}

/** Which of the app's tools a session has: only some, or all but some. */
export type ToolChoice = { readonly only: readonly string[] } | { readonly without: readonly string[] }

/** The first event of a log: what it is, who wrote it, and what was given when the session was created. */
export interface SessionOpen {
  readonly version: number
  readonly format: 'headrace'
  /** Name and version of the program, e.g. `headrace/1.2.0`. */
  readonly writer: string
  /** The hash that all digests of this log are made with. */
  readonly digest: 'sha-256'
  readonly id: string
  readonly cwd?: string
  readonly config?: Partial<CallConfig>
  /** Where a fork comes from, and the seq of the last event that was copied. */
  readonly parent?: string
  readonly at?: number
  /** The first session of its line of forks: providers' caches are keyed by it. */
  readonly root?: string
  /** The messages that the history begins with. */
  readonly seed?: readonly Message[]
  readonly under?: Under
  /** What kind of session it is, in the creator's words, e.g. `subagent`. */
  readonly kind?: string
  readonly title?: string
  readonly tools?: ToolChoice
  readonly limits?: Readonly<Record<string, number>>
}

/** A prompt or steer that was accepted. */
export interface Queued {
  readonly input: UserMessage
  readonly owner: Owner
  readonly steer?: true
  readonly context?: Json
  /** The sender's idempotency key: the same key is accepted once. */
  readonly key?: string
  /** The letter it came by. */
  readonly letter?: string
  /** Config fields that differ for this prompt's turn. */
  readonly config?: Partial<CallConfig>
  /** JSON Schema of what the turn's answer must be. */
  readonly output?: JsonObject
}

/** Where a step's time went, in milliseconds. */
export interface Timing {
  readonly model?: number
  readonly tools?: number
  readonly store?: number
  /** By seam and plugin. */
  readonly seams?: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** How a dispatch ended. */
export interface RequestEnd {
  readonly dispatch: number
  readonly outcome: 'ok' | 'error' | 'aborted'
  readonly usage?: Usage
  readonly wire?: Digest
  readonly finish?: FinishReason
  readonly error?: Failure
  readonly answer?: AssistantMessage
  readonly adapter?: AdapterRecord
  /** Milliseconds from the dispatch to the first piece of the answer. */
  readonly firstChunk?: number
  /** The provider's id of the answer, and the model that it reports. */
  readonly response?: { readonly id?: string; readonly model?: string }
}

/** The result of one call. `details` and `progress` are for people and programs, and never sent. */
export interface ToolResult extends CallRef {
  readonly message: ToolMessage
  readonly outcome: CallOutcome
  readonly owner?: Owner
  readonly additionalContext?: readonly Signed<Contribution>[]
  readonly details?: Json
  /** The last progress that the tool showed. */
  readonly progress?: Json
  /** It ends the turn as its answer: the results of its batch are owed none. */
  readonly endTurn?: true
}

/** An answer that a question offers. */
export interface QuestionOption {
  readonly answer: Json
  readonly label?: string
  /** What an answer with it is remembered as. */
  readonly remember?: Json
}

/** A question to a person, about a call. It is open until it is answered, or its call has a result. */
export interface Question extends CallRef {
  readonly kind: 'permission' | 'input'
  readonly question: string
  readonly options?: readonly QuestionOption[]
  /** JSON Schema of the answer. */
  readonly schema?: JsonObject
}

/** An answer to a question. The first in the log counts. */
export interface Answered {
  /** The seq of its `question/asked`. */
  readonly question: number
  readonly answer: Json
  /** Who gave it. */
  readonly by: Owner
  readonly remember?: Json
  readonly letter?: string
}

/** The events that this package knows, and their data. */
export interface CoreEvents {
  'session/open': SessionOpen
  'session/title': { readonly title: string; readonly owner: Owner }
  'prompt/queued': Queued
  'prompt/withdrawn': { readonly prompt: number; readonly reason: string; readonly letter?: string }
  'turn/start': { readonly turn: number; readonly woke: 'prompt' | 'steer' | 'message' | 'wake'; readonly prompt?: number }
  'turn/cancel': { readonly turn: number; readonly reason: string; readonly letter?: string }
  'turn/end': {
    readonly turn: number
    readonly reason: TurnReason
    readonly settled: number
    readonly finish?: TurnFinish
    readonly error?: ErrorRecord
  }
  'step/start': { readonly turn: number; readonly step: number }
  'step/end': {
    readonly turn: number
    readonly step: number
    readonly reason: StepReason
    readonly digest: Digest
    readonly error?: ErrorRecord
    readonly budget?: Readonly<Record<string, number>>
    readonly timing?: Timing
  }
  'user/message': Signed<UserMessage> & { readonly prompt: number }
  'context/message': Signed<Contribution> & { readonly steer?: true }
  'request/header': HeaderData
  'request/header-delta': HeaderDeltaData
  'request/dispatch': Dispatch
  'request/end': RequestEnd
  'assistant/message': { readonly message: AssistantMessage; readonly dispatch: number; readonly interrupted?: true }
  'approval/decided': CallRef & { readonly rule: string; readonly decision: string }
  'question/asked': Question
  'question/answered': Answered
  'tool/start': CallRef
  'tool/result': ToolResult
  'surface/replace': {
    readonly first: EntryId
    readonly last: EntryId
    readonly messages: readonly Signed[]
    readonly owner: Owner
    readonly reason: string
  }
  'surface/rewind': { readonly turn: number; readonly owner: Owner; readonly reason: string }
  /** A letter that changed nothing, such as one with a key that was there before. */
  'letter/refused': { readonly letter: string; readonly reason: string }
}

/** The events of a log and their data. Plugins add types by declaration merging; theirs are never surface. */
// oxlint-disable-next-line typescript/no-empty-object-type -- an interface, so that plugins can merge into it
export interface EventMap extends CoreEvents {}

/** One dispatch of a request: the chain of its history and its digest. With `purpose` it is a side request, which says what differs. */
export interface Dispatch {
  readonly turn?: number
  readonly step?: number
  readonly attempt?: number
  readonly boundary: number
  readonly history: Digest
  readonly digest: Digest
  readonly purpose?: string
  readonly messages?: readonly Signed[]
  readonly config?: Partial<CallConfig>
  readonly tools?: 'none'
}

/** The type of an event. */
export type EventType = keyof EventMap

/** `seq` is contiguous from 0; `time` is in milliseconds since the epoch. A reader refuses an unknown type that is `required`. */
export type SessionEvent<T extends EventType = EventType> = {
  [K in T]: { readonly seq: number; readonly time: number; readonly type: K; readonly data: EventMap[K]; readonly required?: true }
}[T]

/** What is given to `append`: the log adds `seq` and `time`. */
export type EventDraft<T extends EventType = EventType> = { [K in T]: { readonly type: K; readonly data: EventMap[K] } }[T]

type CoreFields = { readonly [T in keyof CoreEvents]: { readonly [F in keyof Required<CoreEvents[T]>]: true } }

/** The fields of each core type that this version knows: an event that is `required` may have no others. */
export const CORE_FIELDS: CoreFields & { readonly 'run/context': object } = {
  'session/open': {
    version: true, format: true, writer: true, digest: true, id: true, cwd: true, config: true, parent: true, at: true, root: true,
    seed: true, under: true,
    kind: true, title: true, tools: true,
    limits: true,
  },
  'session/title': { title: true, owner: true },
  'prompt/queued': { input: true, owner: true, steer: true, context: true, key: true, letter: true, config: true, output: true },
  'prompt/withdrawn': { prompt: true, reason: true, letter: true },
  'turn/start': { turn: true, woke: true, prompt: true },
  'turn/cancel': { turn: true, reason: true, letter: true },
  'turn/end': { turn: true, reason: true, settled: true, finish: true, error: true },
  'step/start': { turn: true, step: true },
  'step/end': { turn: true, step: true, reason: true, digest: true, error: true, budget: true, timing: true },
  'user/message': { message: true, owner: true, prompt: true },
  'context/message': { message: true, owner: true, steer: true },
  'run/context': { turn: true, digest: true, template: true, facts: true, sections: true },
  'request/header': { reason: true, header: true, owners: true, substitute: true },
  'request/header-delta': { delta: true, substitute: true },
  'request/dispatch': {
    turn: true, step: true, attempt: true, boundary: true, history: true, digest: true, purpose: true, messages: true,
    config: true, tools: true,
  },
  'request/end': {
    dispatch: true, outcome: true, usage: true, wire: true, finish: true, error: true, answer: true, adapter: true, firstChunk: true,
    response: true,
  },
  'assistant/message': { message: true, dispatch: true, interrupted: true },
  'approval/decided': { assistant: true, index: true, rule: true, decision: true },
  'question/asked': { assistant: true, index: true, kind: true, question: true, options: true, schema: true },
  'question/answered': { question: true, answer: true, by: true, remember: true, letter: true },
  'tool/start': { assistant: true, index: true },
  'tool/result': {
    assistant: true, index: true, message: true, outcome: true, owner: true, additionalContext: true, details: true, progress: true,
    endTurn: true,
  },
  'surface/replace': { first: true, last: true, messages: true, owner: true, reason: true },
  'surface/rewind': { turn: true, owner: true, reason: true },
  'letter/refused': { letter: true, reason: true },
}

/**
 * The types that the loop and the agent's methods write. Everything else is a plugin's: never surface, skipped by readers
 * that do not know it.
 */
export const CORE_TYPES: ReadonlySet<string> = new Set(Object.keys(CORE_FIELDS))

/** Core types that are marked `required`: a reader that skips them rebuilds something else. */
export const REQUIRED_TYPES: ReadonlySet<string> = new Set<EventType>(['surface/rewind'])
