// A process of its own on the built store: node child.mjs hold | race | once | fill | append <file> <id>
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Batch } from '@headrace/session'
import { SqliteStore } from '../lib/index.js'

const [mode, file, id] = process.argv.slice(2)
const store = new SqliteStore({ file, fsync: mode === 'append' ? 'barrier' : 'never' })
const lines = createInterface(process.stdin)[Symbol.asyncIterator]()
const say = (line) => process.stdout.write(`${line}\n`)
const open = () => store.lease(id).catch((error) => error.code === 'SESSION_NOT_FOUND' ? store.create(id) : Promise.reject(error))

const modes = {
  async hold() {
    const lease = await open()
    say('leased')
    await lines.next()
    await lease.release()
    say('released')
    process.exit()
  },

  /** Told a time, tries to lease then, all at once with its siblings. */
  async race() {
    say('ready')
    for (;;) {
      const { value, done } = await lines.next()
      if (done) return
      while (Date.now() < Number(value));
      const lease = await store.lease(id).catch((error) => error)
      say(lease.code ?? 'leased')
      await lines.next()
      await lease.release?.()
      say('released')
    }
  },

  /** Appends a list that nobody flushes, and waits for its end. */
  async once() {
    const lease = await open()
    const step = (seq) => ({ seq, time: seq, type: 'step/start', data: { turn: 1, step: seq } })
    lease.append(new Batch([{ seq: 0, time: 0, type: 'session/open', data: { version: 1, id } }, step(1), step(2)]))
    say('appended')
    await lines.next()
  },

  /** Appends until that fails, then once more; says what was kept and how it failed. */
  async fill() {
    const lease = await store.create(id)
    const attempt = (seq) => {
      try {
        const note = 'x'.repeat(2000)
        lease.append(new Batch([seq === 0 ? { seq, time: 0, type: 'session/open', data: { version: 1, id } } : { seq, time: seq, type: 'step/start', data: { turn: 1, step: seq, note } }]))
      } catch ({ code, message }) {
        return { code, message }
      }
    }
    let kept = 0
    let first
    while (!(first = attempt(kept))) kept++
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
      const events = Array.from({ length: 1 + seq % 3 }, () => {
        const at = seq++
        return at === 0 ? { seq: 0, time: 0, type: 'session/open', data: { version: 1, id } } : { seq: at, time: at, type: 'step/start', data: { turn: at, step: 1, note: 'x'.repeat(at % 5000) } }
      })
      lease.append(new Batch(events))
      if (seq % 5 === 0) continue
      await lease.flush()
      if (!say(seq - 1)) await once(process.stdout, 'drain')
    }
  },
}
await modes[mode]()
