import { type Message, type MessageInput, sameJson, toMessage } from '@headrace/message'
import { AgentError } from '../contract/error.ts'

/** The history that the caller expects, in canonical form. @throws MessageError */
export function toSeed(seed: readonly MessageInput[]): readonly Message[] {
  return seed.map((message, index) => toMessage(message, `seed[${index}]`))
}

/** @throws AgentError where the seed is not the log's history: shorter, longer or different; names the index and both roles */
export function checkSeed(seed: readonly Message[], history: readonly Message[]): void {
  for (let index = 0; index < Math.max(seed.length, history.length); index++) {
    const [given, logged] = [seed[index], history[index]]
    if (given && logged && sameJson(given, logged)) continue
    const what = !given ? `it ends there, the log has a ${logged!.role} message` : !logged ? `it has a ${given.role} message, the log ends there` : `it has a ${given.role} message, the log has a${given.role === logged.role ? ' different' : ''} ${logged.role} message`
    throw new AgentError('SEED_DIFFERS', `the seed is not the history of the session: at index ${index} ${what}; resume without a seed to go on with what the log has`)
  }
}
