import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Batch, type EventDraft, FORMAT, type Lease, type SessionEvent, type SessionStore } from '@headrace/session'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { onTestFinished } from 'vitest'
import { removeFolder } from '@headrace/testing/folder'

/** A folder that goes with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'store-jsonl-'))
  onTestFinished(() => removeFolder(folder))
  return folder
}

/** One log and its file, for tests that look at bytes. */
export class TestLog {
  readonly directory = temporaryFolder()
  readonly store = new JsonlStore({ directory: this.directory, fsync: 'never' })
  readonly path = join(this.directory, 'a.jsonl')

  get bytes(): Buffer {
    return readFileSync(this.path)
  }

  set bytes(bytes: Uint8Array | string) {
    writeFileSync(this.path, bytes)
  }

  /** Writes a log through the store. */
  async write(...appends: readonly (readonly EventDraft[])[]): Promise<readonly SessionEvent[]> {
    const lease = await this.store.create('a')
    const events: SessionEvent[] = []
    for (const drafts of appends) events.push(...append(lease, events.length, ...drafts))
    await lease.release()
    return events
  }

  read(): Promise<readonly SessionEvent[]> {
    return read(this.store, 'a')
  }
}

export function opening(id = 'a'): EventDraft<'session/open'> {
  return { type: 'session/open', data: { ...FORMAT, id, cwd: '/home/someone/project' } }
}

export function prompt(text: string): EventDraft<'prompt/queued'> {
  return { type: 'prompt/queued', data: { input: { role: 'user', content: [{ type: 'text', text }] }, owner: 'user' } }
}

export function event(seq: number, draft: EventDraft): SessionEvent {
  return { seq, time: 1_764_500_000_000 + seq, ...draft } as SessionEvent
}

export function append(lease: Lease, seq: number, ...drafts: readonly EventDraft[]): readonly SessionEvent[] {
  const events = drafts.map((draft, index) => event(seq + index, draft))
  lease.append(new Batch(events))
  return events
}

export async function read(store: SessionStore, id = 'a'): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of store.load(id)) events.push(...batch)
  return events
}

/** A small log of events that a turn makes. */
export function turn(): readonly (readonly EventDraft[])[] {
  return [
    [opening()],
    [prompt('Fix the failing test – please. 修复')],
    [{ type: 'turn/start', data: { turn: 1, woke: 'prompt', prompt: 1 } }, { type: 'user/message', data: { message: { role: 'user', content: [{ type: 'text', text: 'Fix it "now"\n' }] }, owner: 'user', prompt: 1 } }],
    [{ type: 'tool/result', data: { assistant: 4, index: 0, outcome: 'done', message: { role: 'tool', content: [{ type: 'tool-result', id: 'c1', name: 'read', content: [{ type: 'text', text: '\u{1F600}\u2028' }] }] } } }],
  ] as readonly (readonly EventDraft[])[]
}
