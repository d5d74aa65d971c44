import { Batch, MemoryStore, type SessionEvent, type SessionStore } from '@headrace/session'
import { makeApp } from './app.ts'

/** Steps of a recorded turn; each adds two messages: the prompt or a tool's result, and an answer. */
const STEPS = 25

/** A log of at least so many messages, written by the loop itself, as the JSON of each event. */
export async function recordLog(id: string, messages: number, store: SessionStore = new MemoryStore()): Promise<readonly string[]> {
  const app = await makeApp({ store })
  app.answers.steps = STEPS
  const agent = await app.create(id)
  for (let count = 0; count < messages; count += 2 * STEPS) await agent.prompt('Go on with the work, please.').result
  await agent.dispose()
  const lines: string[] = []
  for await (const batch of store.load(id)) for (const event of batch) lines.push(JSON.stringify(event))
  return lines
}

/** Puts a recorded log into a store, under an id of its own. */
export async function putLog(store: SessionStore, id: string, lines: readonly string[]): Promise<void> {
  const [open, ...events] = parseLines(lines) as [SessionEvent<'session/open'>, ...SessionEvent[]]
  const lease = await store.create(id)
  lease.append(new Batch([{ ...open, data: { ...open.data, id } }, ...events]))
  await lease.release()
}

export function parseLines(lines: readonly string[]): readonly SessionEvent[] {
  return lines.map((line) => JSON.parse(line) as SessionEvent)
}
