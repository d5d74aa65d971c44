import type { Agent } from '@headrace/agent'
import { callsOf, textOf } from '@headrace/message'
import type { Entry } from '@headrace/session'

/** Keys of skills that the plugin tells and not the tool: what `/name` brings, and what is told again. */
export const OPENED = 'skills/opened'

const AGAIN = 'Opened earlier; its instructions still hold.'
const BODY = 'Its instructions:\n\n'

/** The skills that were opened in a part of the history, as they were told last, newest first. */
function openedIn(entries: readonly Entry[], openings: ReadonlySet<string>): ReadonlyMap<string, string> {
  const opened = new Map<string, string>()
  for (const { message, owner } of entries.toReversed()) {
    const isTold = owner === OPENED || (message.role === 'tool' && owner === 'tool' && message.content.some(({ id, error }) => openings.has(id) && error !== true))
    if (!isTold) continue
    const text = message.role === 'tool' ? message.content.map(({ content }) => textOf({ content })).join('') : textOf(message)
    const at = /^Skill (\S+), in /m.exec(text)
    if (at && !opened.has(at[1]!)) opened.set(at[1]!, text.slice(at.index))
  }
  return opened
}

/** A call that opens a skill, and reads no file of one nor goes on in it. */
function isOpening({ name, arguments: text }: { readonly name: string; readonly arguments: string }): boolean {
  if (name !== 'skill') return false
  try {
    const { resource, offset } = JSON.parse(text) as { readonly resource?: unknown; readonly offset?: unknown }
    return resource === undefined && (offset === undefined || offset === 0)
  } catch {
    return false
  }
}

/**
 * What stands behind a summary: each opened skill that goes, as it was told, so long as it is not open in what stays.
 *
 * @param most characters of each
 */
export function toldAgain(agent: Agent, going: readonly Entry[], most: number): readonly string[] {
  const gone = new Set(going)
  const entries = agent.session.entries()
  // Where only results are cut, their calls are not among what goes.
  const openings = new Set(entries.flatMap(({ message }) => callsOf(message)).filter(isOpening).map(({ id }) => id))
  const staying = openedIn(entries.filter((entry) => !gone.has(entry)), openings)
  return [...openedIn(going, openings)].filter(([name]) => !staying.has(name)).map(([name, text]) => `${AGAIN}\n\n${shortened(name, text, most)}`)
}

function shortened(name: string, text: string, most: number): string {
  if (text.length <= most) return text
  const body = text.indexOf(BODY) + BODY.length
  const offset = Math.max(0, most - body)
  return `${text.slice(0, body + offset).toWellFormed()}\n[Cut here. For the rest call the skill tool with the name ${name} and offset ${offset}.]`
}
