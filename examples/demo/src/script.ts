import { type ChatBody, type Reply, type Script, type ToolResult, toolResults } from '@headrace/model-server'
import { BUG, FIX } from './project.ts'

/** What the demo asks for. */
export const PROMPT = 'A test of this project fails. Find out why, mend it, and run the tests.'
/** What the model says when it is done. */
export const DONE = 'The tests pass'

/** How often the tests may fail before the model gives up. */
const PATIENCE = 3

/** What the model can know from the results it has seen. */
interface Known {
  /** The state of `cart.js`; undefined where it was not read since it may have changed. */
  source: 'wrong' | 'right' | undefined
  passed: boolean
  failures: number
}

/**
 * A model that fixes the project of {@link makeProject}: a pure function of the conversation, so that an agent that was
 * killed and came back gets the continuation. After a call whose result is *unknown* or *not started* it checks again.
 *
 * @param delay milliseconds before each piece of an answer
 */
export function demoScript({ delay = 0 }: { readonly delay?: number } = {}): Script {
  return (body) => ({ ...answer(body), delay })
}

function answer(body: ChatBody): Exclude<Reply, string> {
  const results = toolResults(body)
  const known = results.reduce(learn, { source: undefined, passed: false, failures: 0 })
  if (known.passed) return { text: `${DONE}: total() took the price of one item for the price of all. It now multiplies by the quantity.` }
  if (known.failures >= PATIENCE) return { text: 'The tests still fail, and I do not see why.' }
  if (known.source === undefined) return look(results.length > 0)
  if (known.source === 'wrong') return { text: 'total() forgets the quantity.', toolCalls: [{ name: 'edit', arguments: { path: 'cart.js', old: BUG, new: FIX } }] }
  return { text: 'Now the tests.', toolCalls: [{ name: 'bash', arguments: { command: 'node --test' } }] }
}

function look(again: boolean): Exclude<Reply, string> {
  return {
    reasoning: again ? 'I cannot be sure what happened, so I look again.' : 'I do not know this project, so I look first.',
    text: again ? 'Let me see what is there now.' : 'Let me see what is there.',
    toolCalls: [
      { name: 'list', arguments: { path: '.' } },
      { name: 'read', arguments: { path: 'cart.js' } },
      { name: 'read', arguments: { path: 'cart.test.js' } },
    ],
  }
}

function learn(known: Known, result: ToolResult): Known {
  const { name, text } = result
  if (name === 'read' && result.arguments.includes('cart.js"')) return { ...known, source: text.includes(FIX) ? 'right' : text.includes(BUG) ? 'wrong' : undefined }
  if (name === 'edit') return { ...known, source: text.startsWith('Edited') ? 'right' : undefined, passed: false }
  if (name === 'bash' && text.includes('[exit code 0]')) return { ...known, passed: true }
  if (name === 'bash') return { ...known, source: undefined, failures: known.failures + (/\[exit code \d+\]/.test(text) ? 1 : 0) }
  return known
}
