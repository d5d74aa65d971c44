import type { TurnResult } from '@headrace/agent'
import { type Json, type Usage, NO_USAGE, addUsage } from '@headrace/message'
import type { SessionEvent, SessionView } from '@headrace/session'

/** What a result has for people and programs, beside what the model is told. */
export interface Details {
  readonly kind: 'subagent'
  readonly session: string
  readonly agent?: string
  readonly model?: string
  readonly reason: TurnResult['reason']
  readonly steps: number
  /** Of this call's turn, and of the subagents in it. */
  readonly usage: Usage
  /** US dollars of the same, where every rate is known. */
  readonly cost?: number
}

/** Tokens of the requests from an event on, those of a session's own subagents with them. */
export function usageFrom(session: Pick<SessionView, 'events'>, from: number): Usage {
  let usage = NO_USAGE
  for (const event of session.events(from)) {
    const more = event.type === 'request/end' ? event.data.usage : event.type === 'tool/result' ? usageIn(event.data.details) : undefined
    if (more) usage = addUsage(usage, more)
  }
  return usage
}

function usageIn(details: Json | undefined): Usage | undefined {
  const { kind, usage } = (details ?? {}) as unknown as Partial<Details>
  return kind === 'subagent' ? usage : undefined
}

/** How far a subagent is, for whoever watches its call. */
export type Progress = { readonly session: string; readonly step?: number; readonly tool?: string }

/** What an event changes of it: its step, and the tool that it called last. */
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
