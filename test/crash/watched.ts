import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'
import type { Batch, Lease, SessionStore } from '@headrace/session'
import type { Killer } from './killer.ts'

/** What a child says in its side file: what it was promised before it was killed. */
export type Ack =
  | { readonly what: 'created' }
  /** So many events were acknowledged as durable; the digest of their JSON lines. */
  | { readonly what: 'durable'; readonly events: number; readonly sum: string }
  | { readonly what: 'prompt'; readonly seq: number }
  /** A letter that nobody takes here: it waits, whatever happens to the holder. */
  | { readonly what: 'letter'; readonly id: string }
  | { readonly what: 'blob'; readonly digest: string }
  | { readonly what: 'turn'; readonly prompt: number; readonly reason: string }
  /** A request left. */
  | { readonly what: 'request'; readonly dispatch: number }
  /** A tool began to have its effect. */
  | { readonly what: 'tool'; readonly id: string; readonly name: string }
  | { readonly what: 'course'; readonly course: Killer['course']; readonly time: number }
  | { readonly what: 'resumed' }
  | { readonly what: 'failed'; readonly message: string }

/** Takes what was acknowledged. */
export interface Side {
  say(ack: Ack): void
}

/** A file to which lines are added. What is written survives a kill: it is in the system's cache, if not on the disk. */
export class SideFile implements Side {
  private readonly fd: number

  constructor(fd: number) {
    this.fd = fd
  }

  say(ack: Ack): void {
    writeSync(this.fd, `${JSON.stringify(ack)}\n`)
  }
}

/** Adds a line's events to a running digest. */
export class Sum {
  private hash = createHash('sha256')
  events = 0

  add(json: readonly string[]): void {
    for (const line of json) this.hash.update(`${line}\n`)
    this.events += json.length
  }

  digest(): string {
    return this.hash.copy().digest('hex')
  }
}

/** A store whose appends and flushes are points at which the process can be killed, and whose acknowledged flushes are told. */
export function watched(store: SessionStore, killer: Killer, side: Side): SessionStore {
  return {
    create: async (id) => watchedLease(await store.create(id), killer, side, new Sum()),
    lease: async (id) => {
      const lease = await store.lease(id)
      const sum = new Sum()
      for await (const batch of store.load(id)) sum.add(batch.map((event) => JSON.stringify(event)))
      return watchedLease(lease, killer, side, sum)
    },
    load: (id) => store.load(id),
    read: (id, from, to) => store.read(id, from, to),
    follow: (id, options) => store.follow(id, options),
    post: (id, letter) => store.post(id, letter),
    letters: (id) => store.letters(id),
    card: (id) => store.card(id),
    list: (filter) => store.list(filter),
    remove: (id) => store.remove(id),
    putBlob: (id, bytes) => store.putBlob(id, bytes),
    getBlob: (id, digest) => store.getBlob(id, digest),
  }
}

function watchedLease(lease: Lease, killer: Killer, side: Side, sum: Sum): Lease {
  return {
    id: lease.id,
    lost: lease.lost,
    append(batch: Batch) {
      const types = batch.events.map(({ type }) => [type, killer.count(type)] as const)
      killer.append(types, 'before')
      killer.begin(killer.count('append'))
      lease.append(batch)
      sum.add(batch.json)
      killer.append(types, 'after')
    },
    async flush() {
      const nth = killer.count('flush')
      killer.pass('flush', nth, 'before')
      const { events } = sum
      const digest = sum.digest()
      await lease.flush()
      side.say({ what: 'durable', events, sum: digest })
      killer.pass('flush', nth, 'after')
    },
    letters: () => lease.letters(),
    onLetter: (listener) => lease.onLetter(listener),
    release: () => lease.release(),
  }
}
