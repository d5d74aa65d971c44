/** The parts of OpenAI's chat completions that scripts and answers are made of. */

export interface ContentPart {
  readonly type: string
  readonly text?: string
  readonly [field: string]: unknown
}

/** A call of a tool, as the protocol tells it. */
export interface ChatToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

type Content = string | readonly ContentPart[]

/** A message, as the protocol tells it. */
export type ChatMessage =
  | { readonly role: 'system' | 'developer' | 'user'; readonly content: Content; readonly name?: string }
  | {
    readonly role: 'assistant'
    readonly content?: Content | null
    readonly reasoning_content?: string | null
    readonly tool_calls?: readonly ChatToolCall[]
  }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: Content }

/** A tool, as the protocol tells it. */
export interface ChatTool {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description?: string; readonly parameters?: unknown; readonly strict?: boolean }
}

/** The body of `POST /v1/chat/completions`, deep-frozen; fields that are not named here are there as they came. */
export interface ChatBody {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly ChatTool[]
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly [field: string]: unknown
}

/** Why an answer ended, in the words of the protocol. */
export type ChatFinish = 'stop' | 'tool_calls' | 'length' | 'content_filter'
