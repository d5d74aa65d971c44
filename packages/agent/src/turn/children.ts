import { type Json, NO_USAGE, type Usage, addUsage, textOf } from '@headrace/message'
import type { CallRef, KnownOfCall, Session, SessionCard, SessionStore } from '@headrace/session'
import type { ModelLookup } from '@headrace/tokens'
import type { ChildNote } from '../contract/events.ts'
import { cutMiddle } from '../seams/outcome.ts'
import { Costs } from './costs.ts'

/** UTF-16 units of a session's last words. */
const LAST_WORDS = 4_000

/** Sessions that work for sessions that work for one. */
const MAX_DEPTH = 10

type Known = (call: CallRef) => KnownOfCall | undefined

/**
 * What the result of a call that was cut off says of the sessions that worked for it: which, how far they came, and what they said last;
 * in its details what they used. Nobody drives them by then. One that cannot be read is named.
 */
export async function knownOfChildren(store: SessionStore, session: Session, info: ModelLookup): Promise<Known | undefined> {
  const known = new Map<string, KnownOfCall>()
  for (const { assistant, index, started } of session.surface.openCalls()) {
    if (!started) continue
    const notes = notesOf(session, { assistant, index })
    const found = (await Promise.all(notes.map((note) => leftOf(store, session.id, note, info)))).filter((left) => left !== undefined)
    if (found.length === 0) continue
    const spent = found.flatMap((left) => left.spent ?? [])
    known.set(keyOf({ assistant, index }), {
      text: found.map(({ words }) => words).join(' '),
      ...(spent.length > 0 && { details: spent.reduce(sumOf) as unknown as Json }),
    })
  }
  return known.size === 0 ? undefined : (call) => known.get(keyOf(call))
}

/** Ids of the sessions that work or worked for a call of an open step. */
export function childrenOf(session: Pick<Session, 'events'>, call: CallRef): readonly string[] {
  return notesOf(session, call).map((note) => note.session)
}

/** One for each session: the first. */
function notesOf(session: Pick<Session, 'events'>, call: CallRef): readonly ChildNote[] {
  const notes = new Map<string, ChildNote>()
  for (const { type, data } of session.events(call.assistant)) {
    if (type === 'agent/child' && keyOf(data) === keyOf(call) && !notes.has(data.session)) notes.set(data.session, data)
  }
  return [...notes.values()]
}

/** What a call's result says of them where its tool left while it ran. */
export function leftChildren(session: Pick<Session, 'events'>, call: CallRef): string {
  return childrenOf(session, call).map((id) => ` The session ${id} worked for it; nobody goes on with it by itself.`).join('')
}

function keyOf({ assistant, index }: CallRef): string {
  return `${assistant}.${index}`
}

/** What a session has left that worked for a call. */
interface Left {
  readonly words: string
  readonly spent?: Spent
}

/** What sessions used for a call, in the shape that a tool's details have for it. */
interface Spent {
  readonly kind: 'subagent'
  readonly session: string
  readonly reason: 'lost'
  readonly steps: number
  readonly usage: Usage
  /** US dollars; absent where the rates of a model are unknown. */
  readonly cost?: number
}

/** Nothing of a session that was made under another: this log was copied from there. */
async function leftOf(store: SessionStore, parent: string, { session: id, from }: ChildNote, info: ModelLookup): Promise<Left | undefined> {
  try {
    const card = await store.card(id)
    if (card.open?.under && card.open.under.session !== parent) return undefined
    const { said, spent } = await readWork(store, id, from ?? Infinity, info)
    const last = said === '' ? 'It had said nothing yet.' : `It said last:\n\n${cutMiddle(said, LAST_WORDS)}`
    return { words: `The session ${id} worked for it: ${stateOf(card)}. ${last}`, ...(from !== undefined && { spent }) }
  } catch {
    return { words: `The session ${id} was to work for it, and cannot be read.` }
  }
}

function stateOf({ state, turn, queued }: SessionCard): string {
  if (turn === undefined) return queued > 0 ? 'it had not begun, and its task waits in it' : 'it had not begun, and has no task yet'
  if (turn.reason !== undefined) return turn.reason === 'done' ? 'its turn was done' : `its turn had ended, ${turn.reason}`
  return state === 'parked' ? 'it was cut off in the middle of its turn, and nobody goes on with it by itself' : 'it is in the middle of its turn'
}

/** What a session said last, and what it used from an event on, with those that worked for calls of its own that have no result. */
async function readWork(
  store: SessionStore, id: string, from: number, info: ModelLookup, depth = 0,
): Promise<{ readonly said: string; readonly spent: Spent }> {
  const costs = new Costs(info)
  const open = new Map<string, ChildNote>()
  let [said, usage, steps] = ['', NO_USAGE, 0]
  for await (const batch of store.load(id)) {
    for (const event of batch) {
      if (event.type === 'assistant/message') said = textOf(event.data.message).trim() || said
      costs.take(event)
      if (event.seq < from) {
        costs.reset()
        continue
      }
      if (event.type === 'step/start') steps++
      else if (event.type === 'request/end') usage = addUsage(usage, event.data.usage ?? NO_USAGE)
      else if (event.type === 'agent/child') open.set(keyOf(event.data), event.data)
      else if (event.type === 'tool/result') {
        open.delete(keyOf(event.data))
        usage = addUsage(usage, usageIn(event.data.details))
      }
    }
  }
  for (const { session, from: begin = Infinity } of depth < MAX_DEPTH ? open.values() : []) {
    const inner = await readWork(store, session, begin, info, depth + 1).catch(() => undefined)
    if (!inner) continue
    usage = addUsage(usage, inner.spent.usage)
    costs.child(inner.spent as unknown as Json)
  }
  const { cost } = costs
  return { said, spent: { kind: 'subagent', session: id, reason: 'lost', steps, usage, ...(cost !== undefined && { cost }) } }
}

/** Of a subagent's result. */
function usageIn(details: Json | undefined): Usage {
  const { kind, usage } = (details ?? {}) as { readonly kind?: unknown; readonly usage?: Usage }
  return kind === 'subagent' && usage ? usage : NO_USAGE
}

function sumOf(a: Spent, b: Spent): Spent {
  const { cost: _, ...rest } = b
  const cost = a.cost === undefined || b.cost === undefined ? undefined : a.cost + b.cost
  return { ...rest, steps: a.steps + b.steps, usage: addUsage(a.usage, b.usage), ...(cost !== undefined && { cost }) }
}
