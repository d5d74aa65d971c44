import type { Json, ToolMessage } from '@headrace/message'
import type { CallOutcome, CallRef, EventDraft } from './event.ts'
import type { Fold } from './fold.ts'

const TEXTS: Partial<Record<CallOutcome, string>> = {
  'not-started': 'This call was not started, so it had no effect.',
  unknown: 'This call was started, but its outcome is unknown: it was interrupted. It may have had its effect. Look before you call it again.',
}

/** What is known of a call that was started and cut off, beside its outcome. */
export interface KnownOfCall {
  /** For the model, behind the outcome. */
  readonly text?: string | undefined
  /** For people and programs. */
  readonly details?: Json | undefined
  /** What it showed last. */
  readonly progress?: Json | undefined
}

/** The honest result of a call that has none of its own: *not started*, or *unknown* (L16). */
export function honestResult(call: CallRef & { readonly id: string; readonly name: string; readonly started: boolean }, { text: known, details, progress }: KnownOfCall = {}): EventDraft<'tool/result'> {
  const outcome = call.started ? 'unknown' : 'not-started'
  const text = known === undefined ? TEXTS[outcome]! : `${TEXTS[outcome]!} ${known}`
  const message: ToolMessage = { role: 'tool', content: [{ type: 'tool-result', id: call.id, name: call.name, content: [{ type: 'text', text }], error: true }] }
  return { type: 'tool/result', data: { assistant: call.assistant, index: call.index, message, outcome, ...(details !== undefined && { details }), ...(progress !== undefined && { progress }) } }
}

/**
 * What a log that was cut off needs so that it can go on: open requests end, open calls get honest results. The step is closed by the
 * caller, once these are appended. Nothing is deleted and no tool runs again (L16).
 *
 * @param dispatches those that nobody will end any more
 * @param known what is known of a call that was started, for its result
 */
export function repairs(
  fold: Fold, dispatches: readonly number[], known?: (call: CallRef) => KnownOfCall | undefined,
): readonly EventDraft[] {
  const ends = dispatches.map((dispatch): EventDraft => ({ type: 'request/end', data: { dispatch, outcome: 'aborted', error: { kind: 'aborted', message: 'the process ended before the answer was complete' } } }))
  return [...ends, ...fold.surface.openCalls().map((call) => honestResult(call, call.started ? known?.(call) : undefined))]
}
