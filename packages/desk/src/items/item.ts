import type { ContentBlock, Json, JsonObject, Owner, Usage } from '@headrace/message'
import type { CallOutcome, CallRef, QuestionOption, TurnReason } from '@headrace/session'

/** What every item says. */
interface Shown {
  /**
   * Its name in the session: the same live and from the log, never another's. Of an answer's block `dispatch.block`, of what an event
   * said first the event's seq, with `.part` where an event says several things: a prompt has that of its `prompt/queued` also when it has
   * been taken.
   */
  readonly id: string
  /** The event that said it: of a prompt that was taken its `user/message`. Absent while only pieces did. */
  readonly seq?: number
  /** Of that event, in milliseconds since the epoch. */
  readonly time?: number
  /** The turn it stands in, from 1; absent between turns. */
  readonly turn?: number
  /** Who put it there. */
  readonly owner: Owner
}

/** What a person, the model, or a plugin said. */
export interface MessageItem extends Shown {
  readonly kind: 'message'
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: readonly ContentBlock[]
  /**
   * `queued`: a prompt or steer that no turn has taken; such items stand last. `open`: it still grows. `interrupted`: the answer was cut
   * off, and this much of it was kept.
   */
  readonly state: 'queued' | 'open' | 'done' | 'interrupted'
  /** It was sent for the turn that ran. */
  readonly steer?: true
  /** Put there by a plugin, for the model: doors show it on demand. */
  readonly context?: true
  /** Of an answer: `provider/name`. */
  readonly model?: string
}

/** A block of the model's reasoning. */
export interface ThoughtItem extends Shown {
  readonly kind: 'thought'
  readonly text: string
  readonly state: 'open' | 'done' | 'interrupted'
}

/** `writing`: its arguments still come. `pending`: it waits for a judgement, a person, or for those in front of it. */
export type CallState = 'writing' | 'pending' | 'asks' | 'running' | CallOutcome

/** A call of a tool, from its first character to its result. */
export interface CallItem extends Shown {
  readonly kind: 'call'
  /** The tool's. */
  readonly name: string
  /** The model's own text; grows while `writing`. */
  readonly arguments: string
  /** What that text says, once it is whole and an object. */
  readonly input?: JsonObject
  /** Its place in the log, once the answer stands there. */
  readonly call?: CallRef
  readonly state: CallState
  /** What a running tool shows: its present state, bounded. Kept where the result has it (`tool/result.progress`). */
  readonly progress?: { readonly text: string; readonly state?: Json }
  /** The rule or option that let it run, or stopped it (`approval/decided`). */
  readonly decided?: { readonly rule: string; readonly decision: string }
  /** What the model was told. */
  readonly output?: readonly ContentBlock[]
  /** For people and programs, never sent: a diff, a plan, a path. */
  readonly details?: Json
  /** Sessions that work for it (`agent/child`). */
  readonly children?: readonly string[]
}

/** A question to a person. */
export interface QuestionItem extends Shown {
  readonly kind: 'question'
  /** Its `question/asked`; what an answer names. */
  readonly question: number
  readonly about: 'permission' | 'input'
  /** The call it is about. */
  readonly call: CallRef
  readonly text: string
  readonly options?: readonly QuestionOption[]
  readonly schema?: JsonObject
  /** `closed`: its call ended without an answer. */
  readonly state: 'open' | 'answered' | 'closed'
  readonly answer?: Json
  readonly by?: Owner
}

/** The list that the model keeps (a result's `details { kind: 'plan', entries }`). The newest counts. */
export interface PlanItem extends Shown {
  readonly kind: 'plan'
  readonly entries: readonly { readonly content: string; readonly status: 'pending' | 'in_progress' | 'completed' }[]
}

/** What happened to the session, in a line. */
export interface NoticeItem extends Shown {
  readonly kind: 'notice'
  /** `ended`: a turn that did not end `done`. */
  readonly notice: 'compaction' | 'ended' | 'model' | 'title' | 'withdrawn'
  readonly text: string
  readonly reason?: TurnReason
}

/** What a request cost, side requests included. */
export interface UsageItem extends Shown {
  readonly kind: 'usage'
  readonly model: string
  readonly usage: Usage
  /** Of a side request. */
  readonly purpose?: string
}

/** One thing that a door shows. A pure projection of the log's events, and of pieces while something is open. Frozen. */
export type Item = MessageItem | ThoughtItem | CallItem | QuestionItem | PlanItem | NoticeItem | UsageItem

/**
 * A step from one list of items to the next. `put` adds an item, behind the one named or, without, in front of all; one whose id is there
 * takes its place, and `after` is absent. `text` puts text behind what an open item has (a message's, a thought's, a call's arguments), so
 * that a piece costs its own length; `at` is how much it has. `remove` takes an item away: a failed attempt's, a rewound turn's, a
 * withdrawn prompt's. A prompt that is `taken` comes again, under its id, at its place. Of what came and went within one append nothing is
 * told.
 */
export type ItemChange =
  | { readonly type: 'put'; readonly item: Item; readonly after?: string }
  | { readonly type: 'text'; readonly id: string; readonly at: number; readonly text: string }
  | { readonly type: 'remove'; readonly id: string; readonly why: 'failed' | 'rewound' | 'withdrawn' | 'taken' }
