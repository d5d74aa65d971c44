import { textOf } from '@headrace/message'
import type { CallRef, Session, SessionCard, SessionStore } from '@headrace/session'
import { cutMiddle } from '../seams/outcome.ts'

/** UTF-16 units of a session's last words. */
const LAST_WORDS = 4_000

type Words = (call: CallRef) => string | undefined

/**
 * What the result of a call that was cut off says of the sessions that worked for it: which, how far they came, and what they said last.
 * Nobody drives them by then. One that cannot be read is named.
 */
export async function wordsOfChildren(store: SessionStore, session: Session): Promise<Words | undefined> {
  const words = new Map<string, string[]>()
  for (const { assistant, index, started } of session.surface.openCalls()) {
    if (!started) continue
    const found = await Promise.all(childrenOf(session, { assistant, index }).map((id) => wordsOf(store, session.id, id)))
    const said = found.filter((text) => text !== undefined)
    if (said.length > 0) words.set(keyOf({ assistant, index }), said)
  }
  return words.size === 0 ? undefined : (call) => words.get(keyOf(call))?.join(' ')
}

/** Ids of the sessions that work or worked for a call of an open step. */
export function childrenOf(session: Pick<Session, 'events'>, call: CallRef): readonly string[] {
  const ids = new Set<string>()
  for (const event of session.events(call.assistant)) {
    if (event.type === 'agent/child' && keyOf(event.data) === keyOf(call)) ids.add(event.data.session)
  }
  return [...ids]
}

/** What a call's result says of them where its tool left while it ran. */
export function leftChildren(session: Pick<Session, 'events'>, call: CallRef): string {
  return childrenOf(session, call).map((id) => ` The session ${id} worked for it; nobody goes on with it by itself.`).join('')
}

function keyOf({ assistant, index }: CallRef): string {
  return `${assistant}.${index}`
}

/** Nothing of a session that was made under another: this log was copied from there. */
async function wordsOf(store: SessionStore, parent: string, id: string): Promise<string | undefined> {
  try {
    const card = await store.card(id)
    if (card.open?.under && card.open.under.session !== parent) return undefined
    const said = await lastWords(store, id)
    const last = said === '' ? 'It had said nothing yet.' : `It said last:\n\n${cutMiddle(said, LAST_WORDS)}`
    return `The session ${id} worked for it: ${stateOf(card)}. ${last}`
  } catch {
    return `The session ${id} was to work for it, and cannot be read.`
  }
}

function stateOf({ state, turn, queued }: SessionCard): string {
  if (turn === undefined) return queued > 0 ? 'it had not begun, and its task waits in it' : 'it had not begun, and has no task yet'
  if (turn.reason !== undefined) return turn.reason === 'done' ? 'its turn was done' : `its turn had ended, ${turn.reason}`
  return state === 'parked' ? 'it was cut off in the middle of its turn, and nobody goes on with it by itself' : 'it is in the middle of its turn'
}

async function lastWords(store: SessionStore, id: string): Promise<string> {
  let said = ''
  for await (const batch of store.load(id)) {
    for (const event of batch) if (event.type === 'assistant/message') said = textOf(event.data.message).trim() || said
  }
  return said
}
