import type { CallConfig, Owner } from '@headrace/message'
import type { QueuedPrompt, Session, SessionEvent } from '@headrace/session'

/** A prompt as its event has it; nothing for another event. */
export function promptOf(event: SessionEvent | undefined): QueuedPrompt | undefined {
  return event?.type === 'prompt/queued' ? { ...event.data, seq: event.seq, steer: event.data.steer === true } : undefined
}

/** What the prompt of the open turn changes in the config of all its steps, and who said so. */
export function ownConfig(session: Session): { readonly fields: Partial<CallConfig>; readonly owner: Owner } | undefined {
  const prompt = promptOf(session.at(session.ledger.turn?.prompt ?? -1))
  if (!prompt?.config && !prompt?.output) return undefined
  return { fields: { ...prompt.config, ...(prompt.output && { output: prompt.output }) }, owner: prompt.owner }
}
