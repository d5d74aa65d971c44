import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { Chunk, JsonObject, Message, Usage, UserMessage } from '@headrace/message'
import type { ErrorRecord, ProgressPiece, SessionEvent, TurnFinish, TurnReason } from '@headrace/session'

/** A turn as the seams see it. Frozen. */
export interface Turn {
  /** From 1. */
  readonly number: number
  /** Aborted when the turn is cancelled. */
  readonly signal: AbortSignal
  /** What woke it, as accepted: absent where a message, a steer of a plugin or `wake()` did. */
  readonly prompt?: UserMessage
  /** True for a turn that a resume goes on with. */
  readonly continue?: true
}

/** A step as the seams see it. Frozen. */
export interface Step {
  /** From 1, within the turn. */
  readonly number: number
  /** From 1, within the step. */
  readonly attempt: number
  /** The seq of its `step/start`; absent in `agent/pre-step`, which comes before it. */
  readonly boundary?: number
  /** True where the turn goes on after a resume. */
  readonly continue?: true
}

/** What an answer must be: a Standard Schema that gives JSON Schema, as Zod does, or JSON Schema. */
export type OutputSchema<Output = unknown> = (StandardSchemaV1<unknown, Output> & StandardJSONSchemaV1<unknown, Output>) | JsonObject

/** What became of a turn. */
export interface TurnResult<Output = unknown> {
  /** `withdrawn`: the prompt was taken back before its turn began. `parked`: it goes on when its session is resumed. */
  readonly reason: TurnReason | 'withdrawn' | 'parked'
  readonly error?: ErrorRecord
  /** Why the last answer ended. */
  readonly finish?: TurnFinish
  /** Text of the last answer; of the result that ended the turn, where one did. */
  readonly text: string
  /** The answer as the prompt's `output` says it, where the turn ended `done` and one was asked for. */
  readonly output?: Output
  /** Of all the turn's requests, side requests included. */
  readonly usage: Usage
  /**
   * US dollars of those requests, and of the subagents they had, by the table of `@headrace/tokens`; absent where the rates of one of the
   * models are not known.
   */
  readonly cost?: number
  readonly steps: number
  /** What the turn added to the history. */
  readonly messages: readonly Message[]
}

/** A call begins to run. Told on the handle alone: in the log its `tool/start` stands, with the place of the call. */
export interface ToolStart {
  readonly type: 'tool-start'
  /** The seq of the `assistant/message` that has the call, and its place among that message's calls. */
  readonly assistant: number
  readonly index: number
  readonly id: string
  /** The tool's. */
  readonly name: string
  /** The model's own text, and what it says. */
  readonly arguments: string
  readonly input: JsonObject
}

/** What a turn tells while it runs: events of the log, and what no log holds: chunks of answers, calls that begin, and their progress. */
export type TurnEvent = SessionEvent | Chunk | ToolStart | ProgressPiece

/**
 * A prompt on its way through its turn. Not a thenable: `await handle.result`.
 *
 * ```ts
 * for await (const event of agent.prompt('Why does the test fail?')) if (event.type === 'text') process.stdout.write(event.text)
 * ```
 */
export interface TurnHandle<Output = unknown> extends AsyncIterable<TurnEvent> {
  /** The seq of its `prompt/queued`; absent for a turn that no prompt woke. */
  readonly prompt: number | undefined
  /** Never rejects. */
  readonly result: Promise<TurnResult<Output>>
  /** Resolves when the prompt is durable, so accepted (L17). @throws StoreError */
  readonly accepted: Promise<void>
  /** Cancels its turn, or takes the prompt back where the turn has not begun. */
  cancel(reason?: string): void
  /** Everything from the turn's beginning on, for each loop anew; text that was streamed before the loop began comes as one chunk. */
  [Symbol.asyncIterator](): AsyncIterator<TurnEvent>
}
