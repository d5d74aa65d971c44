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
  /**
   * Shows how far it is, in place of what it showed before: a text, or JSON. To people and programs, live, never to the model; the log
   * keeps the last state (`tool/result.progress`). In an `async *execute`, `yield state` does the same.
   */
  progress(state: ToolJson): void
  /** Shows output as it comes, behind what it showed before: what a command prints. Of much output the end is kept. */
  output(text: string): void
}

/** Where a tool is about to run, for its question. */
export type ToolAsked = Pick<ToolRun, 'agent' | 'turn' | 'call'>

/** JSON as a tool gives it: no dates, generators, instances of classes. What is `undefined` is left out. */
export type ToolJson = null | boolean | number | string | readonly ToolJson[] | { readonly [key: string]: ToolJson | undefined }

/**
 * What a tool gives back: a text, blocks, or any other JSON, which is shown as text; an outcome, which says more of it; or what an MCP
 * server gave.
 */
export type ToolOutput = ContentInput | OutcomeInput | McpResult | ToolJson | undefined

/** An outcome as people write it. */
export interface OutcomeInput {
  readonly content: ContentInput | ToolJson
  /** The model is told that it is an error. Throwing does the same. */
  readonly error?: boolean | undefined
  /** For people and programs, never sent: a diff, a digest, an exit code (`tool/result.details`). */
  readonly details?: ToolJson | undefined
  /**
   * It is the turn's answer: once the whole batch has its results the turn ends, as after an answer that calls nothing; `TurnResult.text`
   * is its text. Of several in one batch the last in call order is the answer. An error does not end a turn.
   */
  readonly endTurn?: boolean | undefined
}

/**
 * A result of MCP's shape. `isError` makes it an error; images and other bytes are kept as blobs; `structuredContent` goes to `details`,
 * and to the model where there is nothing else.
 */
export interface McpResult {
  readonly content: readonly McpContent[]
  readonly isError?: boolean | undefined
  readonly structuredContent?: unknown
  readonly _meta?: unknown
}

/** A part of it: `text`, `image`, `audio`, `resource` or `resource_link`. */
export interface McpContent {
  readonly type: string
}

/** How a call ended, in its one representation. */
export interface ToolOutcome {
  readonly content: readonly ContentBlock[]
  readonly error?: true
  readonly details?: Json
  readonly endTurn?: true
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
  /** Runs a call: what it gives is the result, what it throws an error result. What an `async *execute` yields is its progress. */
  execute(input: Input, run: ToolRun): ToolOutput | Promise<ToolOutput> | AsyncGenerator<ToolJson, ToolOutput, void>
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
