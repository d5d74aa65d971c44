import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { ContentBlock, ContentInput, Json, JsonObject } from '@headrace/message'
import type { QuestionOption } from '@headrace/session'
import type { Agent } from './agent.ts'
import type { InputQuestion } from './question.ts'
import type { Turn } from './turn.ts'

/** A Standard Schema that can also give JSON Schema, as Zod, Valibot and ArkType do. */
export type ToolSchemaLike<Input = unknown> = StandardSchemaV1<unknown, Input> & StandardJSONSchemaV1<unknown, Input>

/** A call as the seams see it. Frozen: what was judged is what runs. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  /** The model's own text. */
  readonly arguments: string
  /** The text parsed; JSON that fits the tool's schema. */
  readonly input: JsonObject
  /** Its place among the calls of its message, from 0. */
  readonly index: number
}

/** What a running tool gets beside its arguments. */
export interface ToolRun {
  readonly agent: Agent
  readonly turn: Turn
  readonly call: ToolCall
  /** Aborted when the turn is cancelled or the tool's time is up. Honour it: what still runs then is abandoned. */
  readonly signal: AbortSignal
  /**
   * Asks the person, and gives the answer once it is durable; `null` where they decline. The tool's time stands still meanwhile.
   *
   * @throws AgentError `NOBODY_THERE` where no door is there that could ask; CancelledError where the call ends before
   */
  ask(question: InputQuestion): Promise<Json>
}

/** Where a tool is about to run, for its question. */
export type ToolAsked = Pick<ToolRun, 'agent' | 'turn' | 'call'>

/**
 * What a tool gives back: text or blocks, an outcome (`{ content }` of blocks, or with `error: true`), or any other
 * JSON, which is shown as text.
 */
export type ToolOutput = ContentInput | ToolFailure | object | number | boolean | null | undefined

/** An error the model is told of. Throwing does the same. */
export interface ToolFailure {
  readonly content: ContentInput
  readonly error: true
}

/** How a call ended, in its one representation. */
export interface ToolOutcome {
  readonly content: readonly ContentBlock[]
  readonly error?: true
}

/**
 * A tool.
 *
 * ```ts
 * ctx.tools.define({ name: 'now', description: 'The time.', parameters: z.object({}), execute: () => new Date().toISOString() })
 * ```
 */
export interface ToolDefinition<Input = never> {
  /** 1 to 64 of letters, digits, `_` and `-`. */
  readonly name: string
  readonly description: string
  /** A Standard Schema that gives JSON Schema, or JSON Schema of an object. */
  readonly parameters: ToolSchemaLike<Input> | JsonObject
  /** Runs alone: after the calls before it, before the calls behind it. Default: calls of one message run in parallel. */
  readonly sequential?: boolean
  /** Asks before it runs (`tools/ask`): always, or where this gives a question. */
  readonly ask?: boolean | ((input: Input, at: ToolAsked) => string | undefined | Promise<string | undefined>)
  /** Milliseconds until its signal is aborted and an error is the result. Default: the service's. */
  readonly timeout?: number
  /** Runs a call: what it gives is the result, what it throws an error result. */
  execute(input: Input, run: ToolRun): ToolOutput | Promise<ToolOutput>
}

/**
 * What `tools/pre-execute` decides. `{ allow }` names the rule or option that a person gave before, `rule` the one that denies or asks:
 * the log has it as `approval/decided`, signed with the plugin. `options` are what the question offers.
 */
export type CallDecision =
  | 'allow'
  | { readonly allow: string }
  | { readonly deny: string; readonly rule?: string }
  | { readonly ask: string; readonly rule?: string; readonly options?: readonly QuestionOption[] }
/** What `tools/ask` answers. */
export type Permission = 'allow' | { readonly deny: string }
