import { messageOf, toContribution } from '@headrace/message'
import type { Session } from '@headrace/session'
import { AgentError } from '../contract/error.ts'
import { answerText } from './answer-text.ts'
import type { Parameters } from './parameters.ts'

/** The owner of the loop's message about an answer that does not fit. */
const OUTPUT_OWNER = 'loop/output'

/** The parsed value of a turn's newest answer, or why it does not fit. */
export type Output = { readonly value: unknown } | { readonly problem: string }

/** Reads the newest answer since an event as JSON of a schema. */
export function readOutput(session: Session, from: number, schema: Parameters): Output {
  const text = answerText(session, from)
  if (text === undefined) return { problem: 'there is no answer' }
  try {
    return { value: schema.parse(JSON.parse(text)) }
  } catch (error) {
    return { problem: messageOf(error) }
  }
}

/**
 * Checks the answer to a prompt that said what it must be. The first that does not fit stays in the history, and the model is told; at
 * the second the turn fails.
 *
 * @throws AgentError
 */
export function checkOutput(session: Session, schema: Parameters): void {
  const { seq } = session.ledger.turn!
  const output = readOutput(session, seq, schema)
  if ('value' in output) return
  if (wasTold(session, seq)) throw new AgentError('OUTPUT_INVALID', `the answer does not fit the prompt's output: ${output.problem}`)
  const content = `The answer does not fit: ${output.problem}. Answer again, with nothing but JSON that fits the schema that was asked for.`
  session.append({ type: 'context/message', data: { message: toContribution(content, OUTPUT_OWNER), owner: OUTPUT_OWNER, steer: true } })
}

/** True where the model was told in this turn that an answer does not fit. */
function wasTold(session: Session, from: number): boolean {
  for (const event of session.events(from)) if (event.type === 'context/message' && event.data.owner === OUTPUT_OWNER) return true
  return false
}
