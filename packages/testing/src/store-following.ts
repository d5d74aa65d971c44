import { type Cursor, type Followed, type SessionEvent, type SessionStore, cursorOf } from '@headrace/session'
import { expect, it, onTestFinished } from 'vitest'
import { append, opening, prompt, write } from './store-logs.ts'

/** A follower of a session. Ends with its test. */
export class Follower {
  readonly events: SessionEvent[] = []
  readonly appends: number[] = []
  resets = 0
  cursor: Cursor | undefined
  error: unknown
  readonly done: Promise<void>
  private readonly controller = new AbortController()
  private woken: () => void = () => undefined

  constructor(store: Pick<SessionStore, 'follow'>, id: string, from?: Cursor) {
    this.done = this.run(store.follow(id, { ...(from !== undefined && { from }), signal: this.controller.signal }))
    onTestFinished(() => this.stop())
  }

  /** Resolves once what was given is as asked for. */
  async until(what: (follower: this) => boolean): Promise<void> {
    while (!what(this)) {
      if (this.error) throw this.error as Error
      await new Promise<void>((resolve) => (this.woken = resolve))
    }
  }

  /** Stops following; resolves when its loop has ended. */
  stop(): Promise<void> {
    this.controller.abort()
    return this.done
  }

  private async run(followed: AsyncIterable<Followed>): Promise<void> {
    try {
      for await (const item of followed) {
        if ('reset' in item) {
          this.resets++
          this.events.length = this.appends.length = 0
          this.cursor = undefined
        } else {
          this.events.push(...item.events)
          this.appends.push(item.events.length)
          this.cursor = item.cursor
        }
        this.woken()
      }
    } catch (error) {
      this.error = error
    }
    this.woken()
  }
}

/** The cases of `follow`, for the conformance suite of a store. `again` opens the same store as another process would. */
export function following(store: () => SessionStore, again: () => Promise<SessionStore>): void {
  it('gives the events from a seq to before another, and leaves out what the log does not have', async () => {
    const appends = Array.from({ length: 400 }, (_, index) => [prompt(`${index}`.repeat(100)), prompt('x')])
    const written = await write(store(), 'a', [[opening('a')], ...appends])
    for (const [from, to] of [
      [0, 1],
      [0, 0],
      [5, 5],
      [7, 3],
      [400, 409],
      [-3, 2],
      [798, 900],
      [900, 1000],
      [0, Infinity],
      [800, Infinity],
    ] as const) {
      const events: SessionEvent[] = []
      for await (const batch of store().read('a', from, to)) events.push(...batch)
      expect(events).toEqual(written.slice(Math.max(0, from), Math.max(0, to)))
    }
    await expect(async () => { for await (const _ of store().read('none', 0, 1)); }).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })

  it('follows a session from its first event on: what was there, then each append, whole, once it is durable', async () => {
    const lease = await store().create('a')
    const written = [...append(lease, 0, [opening('a')]), ...append(lease, 1, [prompt('one'), prompt('two')])]
    await lease.flush()
    const others = [new Follower(store(), 'a'), new Follower(await again(), 'a')]
    for (const follower of others) await follower.until(({ events }) => events.length === 3)
    for (let seq = 3; seq < 60; seq += 3) {
      written.push(...append(lease, seq, [prompt('x'), prompt('y'), prompt('z')]))
      if (seq % 2) await lease.flush()
    }
    await lease.release()
    for (const follower of others) {
      await follower.until(({ events }) => events.length === 60)
      expect(follower.events).toEqual(written)
      expect(follower.cursor).toBe(cursorOf('a', written.at(-1)!))
    }
  })

  it('shows nothing that is not durable, and asks for the flush that nobody else asks for', async () => {
    const lease = await store().create('a')
    append(lease, 0, [opening('a')])
    await lease.flush()
    const follower = new Follower(store(), 'a')
    await follower.until(({ events }) => events.length === 1)
    append(lease, 1, [prompt('nobody flushes this')])
    expect(follower.events).toHaveLength(1)
    await follower.until(({ events }) => events.length === 2)
    await lease.release()
  })

  fromCursors(store, again)
}

function fromCursors(store: () => SessionStore, again: () => Promise<SessionStore>): void {
  it('goes on behind a cursor, which is the same from whatever store it comes', async () => {
    const written = [...await write(store(), 'a', [[opening('a')], [prompt('one')], [prompt('two'), prompt('three')]])]
    for (let seq = 0; seq < 4; seq++) {
      const follower = new Follower(await again(), 'a', cursorOf('a', written[seq]!))
      const lease = await store().lease('a')
      const [more] = append(lease, written.length, [prompt('more')])
      await lease.release()
      await follower.until(({ events }) => events.at(-1)?.seq === more!.seq)
      expect([follower.resets, follower.events]).toEqual([0, [...written.slice(seq + 1), more]])
      written.push(more!)
      await follower.stop()
    }
  })

  it('answers a cursor that the log does not have with a reset, and begins anew', async () => {
    const written = await write(store(), 'a', [[opening('a')], [prompt('one')]])
    const changed = { ...written[1]!, time: 0 }
    for (const cursor of [cursorOf('a', changed), cursorOf('b', written[1]!), cursorOf('a', { ...changed, seq: 700 })]) {
      const follower = new Follower(store(), 'a', cursor)
      await follower.until(({ events }) => events.length === 2)
      expect([follower.resets, follower.events]).toEqual([1, written])
    }
    const refused = new Follower(store(), 'a', '1.zz')
    await refused.done
    expect(refused.error).toMatchObject({ code: 'CURSOR_INVALID' })
  })

  it('starts over where a session was removed and made again under its id, and ends where it was only removed', async () => {
    const written = await write(store(), 'a', [[opening('a')], [prompt('old')], [prompt('older')]])
    await store().remove('a')
    const fresh = await write(store(), 'a', [[opening('a'), prompt('of the new one')], [prompt('x')], [prompt('y')], [prompt('z')]])
    const late = new Follower(store(), 'a', cursorOf('a', written[2]!))
    await late.until(({ events }) => events.length === fresh.length)
    expect([late.resets, late.events]).toEqual([1, fresh])
    await store().remove('a')
    await late.done
    expect(late.error).toMatchObject({ code: 'SESSION_NOT_FOUND' })
    const none = new Follower(store(), 'a')
    await none.done
    expect(none.error).toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })

  it('never mixes what it follows with a session that takes its place meanwhile', async () => {
    for (let round = 0; round < 4; round++) {
      await write(store(), 'a', [[opening('a')], [prompt('old')], [prompt(`older ${round}`)]])
      const other = await again()
      const followers = [new Follower(store(), 'a'), new Follower(other, 'a')]
      await Promise.all(followers.map((follower) => follower.until(({ events }) => events.length === 3)))
      await store().remove('a')
      // The same beginning.
      const fresh = await write(store(), 'a', [[opening('a')], [prompt('old')], [prompt('new')], [prompt('newer')]])
      for (const follower of followers) {
        // It saw the removal, or it sees another log.
        await Promise.race([follower.done, follower.until(({ resets, events }) => resets === 1 && events.length === fresh.length)])
        if (follower.error) expect(follower.error).toMatchObject({ code: 'SESSION_NOT_FOUND' })
        else expect(follower.events).toEqual(fresh)
        await follower.stop()
      }
      await store().remove('a')
    }
  })

  it('ends with its signal, also one that was aborted before', async () => {
    await write(store(), 'a', [[opening('a')]])
    const follower = new Follower(store(), 'a')
    await follower.until(({ events }) => events.length === 1)
    await follower.stop()
    expect(follower.error).toBeUndefined()
    for await (const _ of store().follow('a', { signal: AbortSignal.abort() })) expect.unreachable()
  })
}
