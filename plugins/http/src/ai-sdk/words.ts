import { type ContentBlock, type Json, textOf } from '@headrace/message'
import type { CallRef } from '@headrace/session'

/** The place of a call as a key. */
export function keyOf({ call }: { readonly call: CallRef }): string {
  return `${call.assistant}/${call.index}`
}

/** The request that an item's answer came by, from the item's id. */
export function dispatchOf(id: string): string {
  return id.slice(0, id.indexOf('.'))
}

/** The place of an item in its answer. */
export function blockOf(id: string): number {
  return Number(id.slice(id.indexOf('.') + 1))
}

/** A result as the SDK's clients show it: text where it is text alone. */
export function outputOf(output: readonly ContentBlock[]): Json {
  return output.every(({ type }) => type === 'text') ? textOf({ content: output }) : output.map((block) => ({ ...block }))
}

/** Why an answer ended, in the SDK's words. */
export function finishReason(finish: string | undefined): 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'other' {
  return finish === 'stop' || finish === 'length' || finish === 'tool-calls' ? finish : finish === 'refusal' ? 'content-filter' : 'other'
}
