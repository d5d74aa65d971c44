import type { SessionEvent } from '@headrace/session'
import { CommandError, UsageError } from './error.ts'

export type DispatchEvent = SessionEvent<'request/dispatch'>

/**
 * The request that `[step]` names: `turn.step`, `turn.step.attempt` (the last one without), a step of the last turn that has requests,
 * `#seq`; without it the last request, side requests included.
 *
 * @throws UsageError for a name that is none, CommandError where there is no such request
 */
export function chooseDispatch(events: readonly SessionEvent[], step: string | undefined): DispatchEvent {
  const all = events.filter((event): event is DispatchEvent => event.type === 'request/dispatch')
  const last = all.at(-1)
  if (!last) throw new CommandError('the session has sent no request yet')
  if (step === undefined) return last
  if (/^#\d+$/.test(step)) return bySeq(events, Number(step.slice(1)))
  const path = /^\d+(\.\d+){0,2}$/.test(step) ? step.split('.').map(Number) : undefined
  if (!path) throw new UsageError(`${JSON.stringify(step)} names no request; write turn.step, turn.step.attempt, a step of the last turn, or #seq`)
  const [turn, number, attempt] = path.length === 1 ? [all.findLast(({ data }) => data.turn !== undefined)?.data.turn, path[0]] : path
  const isIt = ({ data }: DispatchEvent): boolean => data.turn === turn && data.step === number && (attempt === undefined || data.attempt === attempt)
  const found = all.findLast((event) => event.data.purpose === undefined && isIt(event))
  if (!found) throw new CommandError(`there is no request ${step}; there is ${listed(all)}`)
  return found
}

function bySeq(events: readonly SessionEvent[], seq: number): DispatchEvent {
  const event = events[seq]
  if (!event) throw new CommandError(`the log ends at event ${events.length - 1}; there is no event ${seq}`)
  if (event.type !== 'request/dispatch') throw new CommandError(`event ${seq} is a ${event.type}, not a request/dispatch`)
  return event
}

function listed(all: readonly DispatchEvent[]): string {
  const names = all.map(nameOf)
  return names.length <= 12 ? names.join(', ') : `${names.slice(0, 6).join(', ')}, … ${names.slice(-6).join(', ')}`
}

/** `turn.step.attempt` of a step's request, `#seq` of a side request. */
export function nameOf({ seq, data }: DispatchEvent): string {
  return data.purpose === undefined ? `${data.turn}.${data.step}.${data.attempt}` : `#${seq}`
}
