import type { AssistantMessage, CallConfig, Contribution, Digest, Failure, FinishReason, Json, Message, Owner, ToolMessage, Usage, UserMessage } from '@headrace/message'
import type { HeaderData, HeaderDeltaData } from './header.ts'

/** The version of the log's format that this package writes, and the newest it reads. */
export const LOG_VERSION = 1

/** A message and who put it there. */
export interface Signed<M extends Message = Message> {
  readonly message: M
  readonly owner: Owner
}

/** A surface entry: the seq of its event, and where an event has several messages `.part` behind it, e.g. `12` and `12.1`. */
export type EntryId = `${number}` | `${number}.${number}`

/** Position of a call: the seq of its `assistant/message`, and its place among that message's calls. Ids of the model may repeat; positions do not. */
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

/** The events of a log and their data. Plugins add types by declaration merging; theirs are never surface. */
export interface EventMap {
  'session/open': { readonly version: number; readonly id: string; readonly cwd?: string; readonly config?: Partial<CallConfig>; readonly parent?: string; readonly at?: number; readonly seed?: readonly Message[] }
  'prompt/queued': { readonly input: UserMessage; readonly owner: Owner; readonly steer?: true; readonly context?: Json }
  'prompt/withdrawn': { readonly prompt: number; readonly reason: string }
  'turn/start': { readonly turn: number; readonly woke: 'prompt' | 'steer' | 'message' | 'wake'; readonly prompt?: number }
  'turn/end': { readonly turn: number; readonly reason: TurnReason; readonly settled: number; readonly finish?: TurnFinish; readonly error?: ErrorRecord }
  'step/start': { readonly turn: number; readonly step: number }
  'step/end': { readonly turn: number; readonly step: number; readonly reason: StepReason; readonly digest: Digest; readonly error?: ErrorRecord; readonly budget?: Readonly<Record<string, number>> }
  'user/message': Signed<UserMessage> & { readonly prompt: number }
  'context/message': Signed<Contribution> & { readonly steer?: true }
  'request/header': HeaderData
  'request/header-delta': HeaderDeltaData
  'request/dispatch': Dispatch
  'request/end': {
    readonly dispatch: number
    readonly outcome: 'ok' | 'error' | 'aborted'
    readonly usage?: Usage
    readonly wire?: Digest
    readonly finish?: FinishReason
    readonly error?: Failure
    readonly answer?: AssistantMessage
  }
  'assistant/message': { readonly message: AssistantMessage; readonly dispatch: number; readonly interrupted?: true }
  'tool/start': CallRef
  'tool/result': CallRef & { readonly message: ToolMessage; readonly outcome: CallOutcome; readonly owner?: Owner; readonly additionalContext?: readonly Signed<Contribution>[] }
  'surface/replace': { readonly first: EntryId; readonly last: EntryId; readonly messages: readonly Signed[]; readonly owner: Owner; readonly reason: string }
  'surface/rewind': { readonly turn: number; readonly owner: Owner; readonly reason: string }
}

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

/** The types that the loop and the agent's methods write. Everything else is a plugin's: never surface, skipped by readers that do not know it. */
export const CORE_TYPES: ReadonlySet<string> = new Set<EventType | 'run/context'>([
  'session/open', 'prompt/queued', 'prompt/withdrawn', 'turn/start', 'turn/end', 'step/start', 'step/end', 'user/message', 'context/message',
  'run/context', 'request/header', 'request/header-delta', 'request/dispatch', 'request/end', 'assistant/message', 'tool/start', 'tool/result', 'surface/replace', 'surface/rewind',
])

/** Core types that are marked `required`: they came after the format's first readers, and a reader that skips them rebuilds something else. */
export const REQUIRED_TYPES: ReadonlySet<string> = new Set<EventType>(['surface/rewind'])
