import type { UserMessage } from '@headrace/message'
import type { SessionStore } from '@headrace/session'

/** A prompt of a log, and the turn it had. */
export interface KnownPrompt {
  readonly seq: number
  readonly key: string
  readonly input: UserMessage
  readonly turn: number | undefined
}

/** In the key of a prompt that takes another's place, behind the message's id: `#r3` for turn 3 anew, `#e…` for other words. */
const SUFFIX = /#[re][0-9a-f]+$/

/** The id of the client's message that a prompt was made of. */
export function messageIdOf(key: string): string {
  return key.replace(SUFFIX, '')
}

/** The prompts of a session that came with a key, oldest first. Reads the log. */
export async function promptsOf(store: SessionStore, id: string): Promise<readonly KnownPrompt[]> {
  const prompts = new Map<number, KnownPrompt>()
  for await (const batch of store.load(id)) {
    for (const { seq, type, data } of batch) {
      if (type === 'prompt/queued' && data.key !== undefined) prompts.set(seq, { seq, key: data.key, input: data.input, turn: undefined })
      const known = type === 'turn/start' && data.prompt !== undefined ? prompts.get(data.prompt) : undefined
      if (known && type === 'turn/start') prompts.set(known.seq, { ...known, turn: data.turn })
    }
  }
  return [...prompts.values()]
}
