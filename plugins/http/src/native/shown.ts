import { type ShownCall, shownQuestion as linesOf } from '@headrace/consent'
import type { SeatQuestion } from '@headrace/desk'
import { type JsonObject, defined } from '@headrace/message'
import type { SessionCard } from '@headrace/session'
import type { Context } from 'cordis'

/** A card as clients see it: nothing of who holds the lease, nor of where the log is. */
export function shownCard({ id, state, title, prompt, turn, asks, queued, modified, at, open, error }: SessionCard): object {
  return {
    id, state, modified, queued, asks: asks.map(({ question }) => question),
    ...defined({ title, prompt, turn, at, cwd: open?.cwd, kind: open?.kind, under: open?.under?.session }),
    ...(error !== undefined && { broken: true }),
  }
}

/** A question with the call it is about, and both in lines that hide nothing: what a person must see before they answer. */
export function shownQuestion(ctx: Context, { session, seq, kind, question, options, schema, assistant, index }: SeatQuestion): object {
  const call = callAt(ctx, session, assistant, index)
  return {
    session, question: seq, about: kind, text: question,
    ...(options && { options }), ...(schema && { schema }), ...(call && { call }),
    shown: linesOf(question, call).whole,
  }
}

/** The call at a place of a session that is driven here. */
function callAt(ctx: Context, session: string, assistant: number, index: number): ShownCall | undefined {
  const view = ctx.agents.get(session)?.session
  const event = view && assistant >= view.first ? view.at(assistant) : undefined
  const calls = event?.type === 'assistant/message' ? event.data.message.content.filter((block) => block.type === 'tool-call') : []
  const call = calls[index]
  if (!call) return undefined
  try {
    const input: unknown = JSON.parse(call.arguments)
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? { name: call.name, input: input as JsonObject } : undefined
  } catch {
    return undefined
  }
}
