import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Batch, type EventDraft, FORMAT, type Lease, type Letter, type LetterDraft, type SessionEvent, type SessionStore } from '@headrace/session'
import { messageOf } from '@headrace/message'

// A process of its own on a built store: node store-child.js <module> <export> <options as JSON> hold | race | once |
// fill | append | steps | take | desk | keys <id>

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

/** The text of a letter, or its kind. */
function promptOf({ id, kind, time: _, ...data }: Letter): EventDraft {
  return kind === 'prompt' ? { type: 'prompt/queued', data: { ...data, owner: 'user', letter: id } } as EventDraft : { type: 'letter/refused', data: { letter: id, reason: kind } }
}

function letterOf(text: string, key?: string): LetterDraft {
  return { kind: 'prompt', input: { role: 'user', content: [{ type: 'text', text }] }, ...(key !== undefined && { key }) }
}

/** Takes letters while there are any, each by an event that names it, one append a letter. */
async function takeAll(lease: Lease, next: number): Promise<number> {
  for (let letters = await lease.letters(); letters.length > 0; letters = await lease.letters()) {
    for (const letter of letters) lease.append(new Batch([{ seq: next++, time: 1, ...promptOf(letter) }]))
    await lease.flush()
  }
  return next
}

async function countOf(): Promise<number> {
  let count = 0
  for await (const events of store.load(id)) count += events.length
  return count
}

/** What a desk does that finds a letter which nobody holds the session of: takes it, leaves, and looks once more. */
async function serve(): Promise<void> {
  do {
    const lease = await store.lease(id).catch((error: { readonly code?: unknown }) => {
      if (error.code === 'SESSION_BUSY') return undefined
      throw error as Error
    })
    // Whoever holds it looks once more when it leaves.
    if (!lease) return
    await takeAll(lease, await countOf())
    await lease.release()
  } while ((await store.letters(id)).length > 0)
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

  /** Holds the session and takes letters as they come. */
  async take() {
    const lease = await open()
    let next = await countOf()
    let work = Promise.resolve()
    const take = (): void => void (work = work.then(async () => void (next = await takeAll(lease, next))))
    lease.onLetter(take)
    take()
    say('taking')
    await lines.next()
    await work
    await lease.release()
    process.exit()
  },

  /** Posts letters, and serves the session where nobody does. */
  async desk() {
    say('ready')
    await lines.next()
    for (let index = 0; index < 25; index++) {
      await store.post(id, letterOf(`${process.pid}-${index}`))
      await serve()
    }
    say('done')
    await lines.next()
    process.exit()
  },

  /** Posts letters under keys that others post under, too; says their ids. */
  async keys() {
    say('ready')
    await lines.next()
    for (let index = 0; index < 20; index++) {
      const { letter } = await store.post(id, letterOf(`${index}`, `key ${index}`))
      say(letter!)
    }
    process.exit()
  },

  /** Appends when it is told a line, and says each seq that was acknowledged. In between it does nothing at all. */
  async steps() {
    const lease = await open()
    for (let seq = await countOf(); ; seq++) {
      await lines.next()
      lease.append(new Batch([eventAt(seq)]))
      await lease.flush()
      say(`${seq}`)
    }
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
