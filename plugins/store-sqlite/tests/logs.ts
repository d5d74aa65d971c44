import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Batch, type EventDraft, FORMAT, type Lease, type SessionEvent, type SessionCard, type SessionStore } from '@headrace/session'
import { SqliteStore, type SqliteStoreOptions } from '@headrace/plugin-store-sqlite'
import { removeFolder } from '@headrace/testing/folder'
import type { StorePlace } from '@headrace/testing/store-processes'
import { onTestFinished } from 'vitest'
import { loadDriver } from '../src/driver.ts'

export const driver = await loadDriver()

/** A folder that goes with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'store-sqlite-'))
  onTestFinished(() => removeFolder(folder))
  return folder
}

/** A store that is closed with the test. */
export function openStore(options: Partial<SqliteStoreOptions> = {}): SqliteStore {
  const store = new SqliteStore({ file: join(temporaryFolder(), 'sessions.sqlite'), fsync: 'never', ...options })
  onTestFinished(() => store.close())
  return store
}

/** The store's place, for a process of its own. */
export function placeOf({ file }: { readonly file: string }): StorePlace {
  return { module: new URL('../lib/index.js', import.meta.url).href, name: 'SqliteStore', options: { file, fsync: 'barrier' } }
}

/** The database beside the store, for what a test does to it. */
export function sql(store: SqliteStore, ...statements: readonly string[]): void {
  const database = driver(store.file, 5000)
  for (const statement of statements) database.exec(statement)
  database.close()
}

export function opening(id = 'a'): EventDraft<'session/open'> {
  return { type: 'session/open', data: { ...FORMAT, id, cwd: '/home/someone/project' } }
}

export function prompt(text: string): EventDraft<'prompt/queued'> {
  return { type: 'prompt/queued', data: { input: { role: 'user', content: [{ type: 'text', text }] }, owner: 'user' } }
}

export function append(lease: Lease, seq: number, ...drafts: readonly EventDraft[]): readonly SessionEvent[] {
  const events = drafts.map((draft, index) => ({ seq: seq + index, time: 1_764_500_000_000 + seq + index, ...draft }) as SessionEvent)
  lease.append(new Batch(events))
  return events
}

/** Writes a log and gives its lease back. */
export async function write(
  store: SessionStore,
  id: string,
  ...appends: readonly (readonly EventDraft[])[]
): Promise<readonly SessionEvent[]> {
  const lease = await store.create(id)
  const events: SessionEvent[] = []
  for (const drafts of appends) events.push(...append(lease, events.length, ...drafts))
  await lease.release()
  return events
}

export async function read(store: SessionStore, id = 'a'): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of store.load(id)) events.push(...batch)
  return events
}

export async function list(store: SessionStore): Promise<readonly SessionCard[]> {
  const sessions: SessionCard[] = []
  for await (const session of store.list()) sessions.push(session)
  return sessions
}
