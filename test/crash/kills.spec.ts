import { closeSync, mkdtempSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ModelServer, createModelServer } from '@headrace/model-server'
import type { SessionEvent } from '@headrace/session'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFolder } from '@headrace/testing/folder'
import { figure } from '../reliability/figures.ts'
import { amount, seeded, some } from '../scale.ts'
import type { Orders } from './child.ts'
import { acksOf, start } from './children.ts'
import { expectFinished, expectKept } from './expect.ts'
import { type Course, type Point, pointsOf } from './point.ts'
import { type Kind, KINDS } from './store.ts'
import { script } from './script.ts'

const KILLS = Number(process.env.HEADRACE_CRASH_KILLS ?? amount(8, 50, 1_000))
const LANES = 2
/** One session in so many is killed a second time, while it resumes. */
const AGAIN = 5
/** Sessions that one child resumes. */
const TOGETHER = 10

interface Killed {
  readonly id: string
  readonly what: string
  readonly side: string
  /** What the log held when the last child was dead. */
  log: readonly SessionEvent[]
  kills: number
}

/** One store under fire. */
class Range {
  readonly folder = mkdtempSync(join(tmpdir(), 'headrace-crash-'))
  readonly counts = { kills: 0, late: 0, nothing: 0, tools: 0, durable: 0 }
  readonly store: ReturnType<Kind['open']>
  private readonly kind: Kind
  private readonly server: ModelServer
  private sessions = 0

  constructor(kind: Kind, server: ModelServer) {
    this.kind = kind
    this.store = kind.open(join(this.folder, 'sessions'))
    this.server = server
  }

  /** A session's names, and an empty side file. */
  session(what: string): Killed {
    const id = `${this.kind.name}-${this.sessions++}`
    const side = join(this.folder, `${id}.acks`)
    closeSync(openSync(side, 'w'))
    return { id, what: `${id} ${what}`, side, log: [], kills: 0 }
  }

  orders(mode: Orders['mode'], sessions: readonly Killed[], point?: Point): Orders {
    const { kind, folder, server: { url } } = this
    return { store: kind.name, folder: join(folder, 'sessions'), url, mode, sessions: sessions.map(({ id, side }) => ({ id, side })), ...(point && { point }) }
  }

  async close(): Promise<void> {
    await this.store.close?.()
    removeFolder(this.folder)
  }

  requests(id: string): number {
    return this.server.requests.filter(({ body }) => body.model === id).length
  }

  /** A whole run, and what it passes. */
  async course(): Promise<Course> {
    const session = this.session('not killed')
    const { out } = await start(this.orders('begin', [session]))
    const acks = acksOf(session.side)
    const done = acks.find((ack) => ack.what === 'course')
    if (done?.what !== 'course') throw new Error(`the work is not done without a kill either: ${JSON.stringify(acks.at(-1))} ${out}`)
    await expectFinished(this.store, session.id, acks, [], session.what)
    return { ...done.course, time: done.time, requests: this.requests(session.id) }
  }

  /** Kills a child at a point, looks at what it left; the session, unless nothing was killed. */
  async kill(mode: Orders['mode'], session: Killed, point: Point): Promise<Killed | undefined> {
    const { killed, out } = await start(this.orders(mode, [session], point))
    const acks = acksOf(session.side)
    expect(acks.filter(({ what }) => what === 'failed'), `${session.what} ${out}`).toEqual([])
    session.log = await expectKept(this.store, session.id, acks, session.what)
    if (!killed) return void this.counts.late++
    this.counts.kills++
    session.kills++
    return session
  }

  /** Resumes sessions in a process of their own, and looks whether their work is done. */
  async finish(sessions: readonly Killed[], most: number): Promise<void> {
    const { out } = await start(this.orders('resume', sessions))
    for (const { id, what, side, log, kills } of sessions) {
      const acks = acksOf(side)
      expect(acks.filter((ack) => ack.what === 'failed'), `${what} ${out}`).toEqual([])
      expect(acks.some((ack) => ack.what === 'resumed'), `${what}: it was resumed ${out}`).toBe(true)
      await expectFinished(this.store, id, acks, log, what)
      expect(this.requests(id), `${what}: requests`).toBeLessThanOrEqual(most + kills)
      this.counts.tools += acks.filter((ack) => ack.what === 'tool').length
      this.counts.durable += acks.filter((ack) => ack.what === 'durable').length
    }
  }
}

describe.each(KINDS)('kill -9 on $name', (kind) => {
  let server: ModelServer
  let range: Range
  beforeAll(async () => {
    server = await createModelServer(script())
    range = new Range(kind, server)
  })
  afterAll(async () => {
    await server.close()
    await range.close()
  })

  it(`${KILLS} times, before and after every type of event, inside appends, in tools, in streams, at any time: nothing acknowledged is lost, no tool runs twice, a resume finishes`, async () => {
    const course = await range.course()
    const random = seeded()
    const left = [...some(pointsOf(course, KILLS, random), KILLS).entries()]
    const waiting: Killed[] = []
    const finish = async (): Promise<void> => {
      const sessions = waiting.splice(0)
      if (sessions.length > 0) await range.finish(sessions, course.requests)
    }
    const lane = async (): Promise<void> => {
      for (let next = left.shift(); next; next = left.shift()) {
        const [index, point] = next
        const session = await range.kill('begin', range.session(`killed at ${JSON.stringify(point)}`), point)
        if (!session) continue
        if (session.log.length === 0) {
          range.counts.nothing++
          continue
        }
        if (index % AGAIN === 0) await range.kill('resume', session, { at: 'time', wait: random() * course.time })
        waiting.push(session)
        if (waiting.length >= TOGETHER) await finish()
      }
      await finish()
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    expect(server.refused, 'a conversation that a provider would refuse').toEqual([])
    console.info(`${kind.name}: ${JSON.stringify(range.counts)}`)
    // A point in time may come when all is done.
    expect(range.counts.kills).toBeGreaterThanOrEqual(KILLS * 0.75)
    figure('crash', kind.name, { kills: range.counts.kills, acknowledgements: range.counts.durable, tools: range.counts.tools })
  }, 240_000 + KILLS * 20_000)
})
