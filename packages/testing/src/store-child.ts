import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Batch, FORMAT, type Lease, type SessionEvent, type SessionStore } from '@headrace/session'
import { messageOf } from '@headrace/message'

// A process of its own on a built store: node store-child.js <module> <export> <options as JSON> hold | race | once | fill | append <id>

const [module = '', name = '', options = '', mode = '', id = ''] = process.argv.slice(2)
const { [name]: Store } = await import(module) as Record<string, new (options: object) => SessionStore>
const store = new Store!(JSON.parse(options) as object)
const lines = createInterface(process.stdin)[Symbol.asyncIterator]()

function say(line: string): boolean {
  return process.stdout.write(`${line}\n`)
}

async function open(): Promise<Lease> {
  try {
    return await store.lease(id)
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'SESSION_NOT_FOUND') throw error
    return store.create(id)
  }
}

function eventAt(seq: number, note?: string): SessionEvent {
  const draft = seq === 0 ? { type: 'session/open', data: { ...FORMAT, id } } : { type: 'step/start', data: { turn: seq, step: 1, ...(note !== undefined && { note }) } }
  return { seq, time: seq, ...draft } as SessionEvent
}

const modes: Readonly<Record<string, () => Promise<void>>> = {
  async hold() {
    const lease = await open()
    say('leased')
    await lines.next()
    await lease.release()
    say('released')
    process.exit()
  },

  /** Told a file, tries to lease when it is there, at once with its siblings. */
  async race() {
    say('ready')
    for (;;) {
      const file = await lines.next()
      if (file.done) return
      say('waits')
      while (!existsSync(file.value));
      const lease = await store.lease(id).catch((error: { readonly code: string }) => error)
      say('code' in lease ? lease.code : 'leased')
      await lines.next()
      if ('release' in lease) await lease.release()
      say('released')
    }
  },

  /** Appends a list that nobody flushes, and waits for its end. */
  async once() {
    const lease = await open()
    lease.append(new Batch([eventAt(0), eventAt(1), eventAt(2)]))
    say('appended')
    await lines.next()
  },

  /** Appends until that fails, then once more; says what was kept and how it failed. */
  async fill() {
    const lease = await store.create(id)
    const attempt = (seq: number): object | undefined => {
      try {
        lease.append(new Batch([eventAt(seq, 'x'.repeat(2_000))]))
        return undefined
      } catch (error) {
        return { code: (error as { readonly code?: unknown }).code, message: messageOf(error) }
      }
    }
    let kept = 0
    let first = attempt(kept)
    while (!first) first = attempt(++kept)
    const second = attempt(kept)
    await lease.release().catch(() => undefined)
    say(JSON.stringify({ kept, first, second }))
    process.exit()
  },

  /** Appends as fast as it can, and says each seq that was acknowledged. */
  async append() {
    const lease = await open()
    let seq = 0
    for await (const events of store.load(id)) seq += events.length
    for (;;) {
      const events = Array.from({ length: 1 + (seq % 3) }, () => eventAt(seq, 'x'.repeat(seq++ % 5_000)))
      lease.append(new Batch(events))
      if (seq % 5 === 0) continue
      await lease.flush()
      if (!say(`${seq - 1}`)) await once(process.stdout, 'drain')
    }
  },
}
await modes[mode]!()
