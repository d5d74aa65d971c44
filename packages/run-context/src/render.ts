import { type SystemMessage, copyJson, toContent } from '@headrace/message'
import type { Lists, Pair } from './input.ts'
import { CONTEXT_HEADING, CONTEXT_NOT_A_REQUEST, CONTEXT_PRECEDENCE } from './template.ts'
import { paragraphs, row } from './text.ts'

/** The message in front of the conversation: the non-blank head sections; `undefined` when there are none. */
export function renderHead({ headSections }: Lists): SystemMessage | undefined {
  const bodies = bodiesOf(headSections)
  return bodies.length === 0 ? undefined : message(paragraphs(bodies))
}

/** The message behind the conversation: facts, even blank ones, and the non-blank tail sections; `undefined` when there are none. */
export function renderTail({ facts, tailSections }: Lists): SystemMessage | undefined {
  const bodies = bodiesOf(tailSections)
  if (facts.length === 0 && bodies.length === 0) return undefined
  const rows = facts.map(([key, value]) => row(key, value)).join('\n')
  const opening = facts.length === 0 ? [CONTEXT_HEADING] : [CONTEXT_HEADING, rows]
  return message(paragraphs([...opening, ...bodies, `${CONTEXT_PRECEDENCE}\n${CONTEXT_NOT_A_REQUEST}`]))
}

/** Bodies are stored stripped, so that a blank one is the empty string. */
function bodiesOf(sections: readonly Pair[]): readonly string[] {
  return sections.map(([, body]) => body).filter((body) => body !== '')
}

function message(text: string): SystemMessage {
  return copyJson<SystemMessage>({ role: 'system', content: toContent(text, 'context') })
}
