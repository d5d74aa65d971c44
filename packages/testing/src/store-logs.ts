import { Batch, type EventDraft, FORMAT, type Lease, type ListFilter, type SessionEvent, type SessionCard, type SessionStore } from '@headrace/session'
import { until } from './gate.ts'

// What the conformance suite of stores writes and reads.

export function opening(id: string): EventDraft<'session/open'> {
  return { type: 'session/open', data: { ...FORMAT, id } }
}

export function prompt(text: string): EventDraft<'prompt/queued'> {
  return { type: 'prompt/queued', data: { input: { role: 'user', content: [{ type: 'text', text }] }, owner: 'user' } }
}

export function event(seq: number, draft: EventDraft): SessionEvent {
  return { seq, time: 1_700_000_000_000 + seq, ...draft }
}

export function append(lease: Lease, seq: number, drafts: readonly EventDraft[]): readonly SessionEvent[] {
  const events = drafts.map((draft, index) => event(seq + index, draft))
  lease.append(new Batch(events))
  return events
}

/** Creates a session with these appends and releases it. */
export async function write(
  store: SessionStore,
  id: string,
  appends: readonly (readonly EventDraft[])[],
): Promise<readonly SessionEvent[]> {
  const lease = await store.create(id)
  const written: SessionEvent[] = []
  for (const drafts of appends) written.push(...append(lease, written.length, drafts))
  await lease.release()
  return written
}

export async function read(store: SessionStore, id: string): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of store.load(id)) events.push(...batch)
  return events
}

export async function list(store: SessionStore, filter: ListFilter = {}): Promise<readonly SessionCard[]> {
  const sessions: SessionCard[] = []
  for await (const session of store.list(filter)) sessions.push(session)
  return sessions
}

/** Until the clock of any file system that is worth it shows another time than now. */
export async function ticked(): Promise<void> {
  const time = Date.now() + 15
  await until(() => Date.now() > time)
}
