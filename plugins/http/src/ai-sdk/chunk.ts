import type { Json, JsonObject } from '@headrace/message'

/** What the SDK passes on with a part, by whom it is for. */
interface Marked {
  readonly providerMetadata?: { readonly headrace: JsonObject }
}

/**
 * A chunk of a UI message stream: those that versions 6 and 7 of the AI SDK both know. A client of version 6 fails the whole stream at
 * one type that it does not know; fields that it does not know it ignores.
 */
export type UiChunk =
  | { readonly type: 'start'; readonly messageId: string; readonly messageMetadata?: JsonObject }
  | { readonly type: 'start-step' | 'finish-step' }
  | { readonly type: 'text-start' | 'reasoning-start'; readonly id: string } & Marked
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'text-end' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'tool-input-start'; readonly toolCallId: string; readonly toolName: string; readonly dynamic: true }
  | { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
  | { readonly type: 'tool-input-available'; readonly toolCallId: string; readonly toolName: string; readonly input: Json; readonly dynamic: true } & Marked
  | { readonly type: 'tool-input-error'; readonly toolCallId: string; readonly toolName: string; readonly input: Json; readonly errorText: string; readonly dynamic: true }
  | { readonly type: 'tool-approval-request'; readonly toolCallId: string; readonly approvalId: string }
  | { readonly type: 'tool-output-available'; readonly toolCallId: string; readonly output: Json; readonly preliminary?: true; readonly dynamic: true }
  | { readonly type: 'tool-output-error'; readonly toolCallId: string; readonly errorText: string; readonly dynamic: true }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | { readonly type: `data-headrace-${string}`; readonly id?: string; readonly data: JsonObject; readonly transient?: true }
  | { readonly type: 'message-metadata'; readonly messageMetadata: JsonObject }
  | { readonly type: 'finish'; readonly finishReason: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other' }
  | { readonly type: 'abort'; readonly reason?: string }
  | { readonly type: 'error'; readonly errorText: string }
