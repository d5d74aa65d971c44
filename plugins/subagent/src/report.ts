import type { TurnResult } from '@headrace/agent'
import { Costs } from '@headrace/agent/internal'
import { type Json, type Usage, NO_USAGE, addUsage } from '@headrace/message'
import type { CallRef, SessionEvent, SessionView } from '@headrace/session'

/** A result's `details` for people and programs (`tool/result.details`). */
export interface Details extends Spent {
  readonly kind: 'subagent'
  readonly session: string
  readonly agent?: string
  readonly model?: string
  readonly reason: TurnResult['reason']
  readonly steps: number
}

/** Usage of the call's turn, including nested subagents. */
export interface Spent {
  readonly usage: Usage
  /** US dollars; absent where the rates of a model are unknown. */
  readonly cost?: number
  /**
   * Calls denied by a rule, or because nobody was there to ask; not those that a person denied. Absent where there are
   * none.
   */
  readonly denied?: number
}

/** What a session spent from an event on, the first of its current life: its header comes after. */
export function spentFrom(session: Pick<SessionView, 'events'>, from: number, known: ConstructorParameters<typeof Costs>[0]): Spent {
  const costs = new Costs(known)
  const inner: Details[] = []
  const calls = new Map<number, string>()
  const answered = new Set<string>()
  let usage = NO_USAGE
  let denied = 0
  let isBilled = false
  for (const event of session.events(from)) {
    costs.take(event)
    if (event.type === 'request/end') {
      isBilled ||= event.data.usage !== undefined
      usage = addUsage(usage, event.data.usage ?? NO_USAGE)
    } else if (event.type === 'question/asked') calls.set(event.seq, callOf(event.data))
    else if (event.type === 'question/answered' && event.data.by === 'user') answered.add(calls.get(event.data.question) ?? '')
    else if (event.type === 'tool/result') {
      if (event.data.outcome === 'denied' && !answered.has(callOf(event.data))) denied++
      const details = detailsIn(event.data.details)
      if (details) inner.push(details)
    }
  }
  for (const details of inner) {
    usage = addUsage(usage, details.usage)
    denied += details.denied ?? 0
  }
  // The costs of those that worked for it are in it.
  const cost = isBilled || inner.length > 0 ? costs.cost : 0
  return { usage, ...(cost !== undefined && { cost }), ...(denied > 0 && { denied }) }
}

/** The details of a subagent's result; undefined for other tools. */
export function detailsIn(details: Json | undefined): Details | undefined {
  const { kind, usage } = (details ?? {}) as unknown as Partial<Details>
  return kind === 'subagent' && usage !== undefined ? details as unknown as Details : undefined
}

function callOf({ assistant, index }: CallRef): string {
  return `${assistant}.${index}`
}

/** A subagent's progress, shown with its call. */
export type Progress = { readonly session: string; readonly step?: number; readonly tool?: string }

/** The progress after an event: the step, and the tool called last. */
export function progressOf(event: SessionEvent): Omit<Progress, 'session'> | undefined {
  if (event.type === 'step/start') return { step: event.data.step }
  if (event.type !== 'assistant/message') return undefined
  const call = event.data.message.content.findLast((block) => block.type === 'tool-call')
  return call && { tool: call.name }
}

const ENDS: Readonly<Partial<Record<TurnResult['reason'], string>>> = {
  cancelled: 'was cancelled', limit: 'reached a limit', error: 'failed', blocked: 'was blocked', stopped: 'was stopped',
  parked: 'was stopped with its app', withdrawn: 'did not begin', lost: 'was cut off',
}

/** What the model is told: the subagent's last message, or how it ended; and its session, to go on with. */
export function reportOf(
  session: string, { reason, text, error, finish }: TurnResult,
): { readonly text: string; readonly failed: boolean } {
  const name = `[subagent session ${session}]`
  if (reason === 'done') {
    const cut = finish === 'length' ? '\n\n(Its answer was cut off: it reached the length that its model may write.)' : ''
    return { text: `${text.trim() === '' ? '(The subagent said nothing.)' : text}${cut}\n\n${name}`, failed: false }
  }
  const why = error ? `: ${error.message}` : ''
  const said = text.trim() === '' ? '' : `\n\nIt said last:\n\n${text}`
  return { text: `The subagent ${ENDS[reason] ?? 'ended'}${why}${said}\n\n${name} What it did stands. To go on with it, give this session.`, failed: true }
}
