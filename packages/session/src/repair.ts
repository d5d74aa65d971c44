import type { ToolMessage } from '@headrace/message'
import type { CallOutcome, CallRef, EventDraft } from './event.ts'
import type { Fold } from './fold.ts'

const TEXTS: Partial<Record<CallOutcome, string>> = {
  'not-started': 'This call was not started, so it had no effect.',
  unknown: 'This call was started, but its outcome is unknown: it was interrupted. It may have had its effect. Look before you call it again.',
}

/** The honest result of a call that has none of its own: *not started*, or *unknown* (L16). */
export function honestResult(call: CallRef & { readonly id: string; readonly name: string; readonly started: boolean }, why?: string): EventDraft<'tool/result'> {
  const outcome = call.started ? 'unknown' : 'not-started'
  const text = why === undefined ? TEXTS[outcome]! : `${TEXTS[outcome]!} ${why}`
  const message: ToolMessage = { role: 'tool', content: [{ type: 'tool-result', id: call.id, name: call.name, content: [{ type: 'text', text }], error: true }] }
  return { type: 'tool/result', data: { assistant: call.assistant, index: call.index, message, outcome } }
}

/**
 * What a log that was cut off needs so that it can go on: open requests end, open calls get honest results. The step is closed by the
 * caller, once these are appended. Nothing is deleted and no tool runs again (L16).
 *
 * @param dispatches those that nobody will end any more
 * @param why what is known of a call that was started, for its result
 */
export function repairs(fold: Fold, dispatches: readonly number[], why?: (call: CallRef) => string | undefined): readonly EventDraft[] {
  const ends = dispatches.map((dispatch): EventDraft => ({ type: 'request/end', data: { dispatch, outcome: 'aborted', error: { kind: 'aborted', message: 'the process ended before the answer was complete' } } }))
  return [...ends, ...fold.surface.openCalls().map((call) => honestResult(call, call.started ? why?.(call) : undefined))]
}
