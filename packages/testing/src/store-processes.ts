import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { SessionStore } from '@headrace/session'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { removeFolder } from './folder.ts'
import { until } from './gate.ts'
import { Follower } from './store-following.ts'
import { append, opening, prompt, read, write } from './store-logs.ts'
import { letter } from './store-mailing.ts'

const CHILD = fileURLToPath(new URL('../lib/store-child.js', import.meta.url))

/** How another process opens the place that a store is at. */
export interface StorePlace {
  /** URL or path of the built module. */
  readonly module: string
  /** The class that it exports. */
  readonly name: string
  /** What its constructor takes, as JSON. */
  readonly options: object
}

/**
 * What a process does with a session: holds its lease until it is told a line; races for it when a file is there that
 * it is told; appends, in four ways; takes letters, sends them.
 */
export type StoreMode = 'hold' | 'race' | 'once' | 'fill' | 'append' | 'steps' | 'take' | 'desk' | 'keys'

/** A process of its own on a store. Killed with its test. */
export class StoreProcess {
  readonly process: ChildProcess
  /** Resolves when it is gone: its last line may come before that. */
  readonly gone: Promise<void>
  private readonly lines: AsyncIterator<string>

  constructor(place: StorePlace, mode: StoreMode, id: string) {
    this.process = spawn(process.execPath, StoreProcess.args(place, mode, id), { stdio: ['pipe', 'pipe', 'inherit'] })
    this.gone = new Promise((resolve) => this.process.once('close', () => resolve()))
    this.lines = createInterface(this.process.stdout!)[Symbol.asyncIterator]()
    onTestFinished(() => void this.process.kill('SIGKILL'))
  }

  /** The arguments of Node that start one. */
  static args({ module, name, options }: StorePlace, mode: StoreMode, id: string): readonly string[] {
    return [CHILD, module, name, JSON.stringify(options), mode, id]
  }

  /** Its next line; `undefined` when it has ended. */
  async next(): Promise<string | undefined> {
    const line = await this.lines.next()
    return line.done ? undefined : line.value
  }

  /** Sends it a line. */
  say(line: string): void {
    this.process.stdin!.write(`${line}\n`)
  }

  /** Resolves when it is gone. */
  async kill(): Promise<void> {
    this.process.kill('SIGKILL')
    await this.gone
  }
}

/** A store that several processes use. */
export interface SharedStore {
  readonly store: SessionStore
  readonly place: StorePlace
  /** Makes a session held, as by a process that is gone; what is given differs from that. */
  leaveHolder(id: string, holder?: { readonly pid?: number; readonly host?: string }): void
  /** Cleans up behind a test. */
  dispose?(): Promise<void> | void
}

/**
 * What a store must do that several processes use at once, as a vitest suite: one writer (L18), and nothing lost that was acknowledged
 * (L17), whoever is killed. Needs the store built.
 *
 * @param make gives an empty store for each test
 */
export function storeProcesses(name: string, make: () => Promise<SharedStore> | SharedStore): void {
  describe(`${name} among processes`, () => {
    let shared: SharedStore
    beforeEach(async () => {
      shared = await make()
    })
    afterEach(() => shared.dispose?.())
    const child = (mode: StoreMode, id = 'a'): StoreProcess => new StoreProcess(shared.place, mode, id)
    oneWriter(() => shared, child)
    kills(() => shared, child)
    letters(() => shared, child)
    pauses(() => shared, child)
  })
}

function oneWriter(shared: () => SharedStore, child: (mode: StoreMode, id?: string) => StoreProcess): void {
  it('refuses the second process and names the first, until that releases (L18)', async () => {
    const { store } = shared()
    await write(store, 'a', [[opening('a')]])
    const holder = child('hold')
    expect(await holder.next()).toBe('leased')
    await expect(store.lease('a')).rejects.toMatchObject({ code: 'SESSION_BUSY', holder: expect.stringMatching(new RegExp(`^pid ${holder.process.pid} on ${hostname()} since 20`)) as unknown })
    await expect(store.remove('a')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
    expect(await read(store, 'a')).toHaveLength(1)
    holder.say('release')
    expect(await holder.next()).toBe('released')
    await (await store.lease('a')).release()
  })

  it('does not hold a session for ever for a process that was killed', async () => {
    const { store } = shared()
    await write(store, 'a', [[opening('a')]])
    const holder = child('hold')
    expect(await holder.next()).toBe('leased')
    await holder.kill()
    const lease = await store.lease('a')
    append(lease, 1, [prompt('goes on')])
    await lease.release()
    expect(await read(store, 'a')).toHaveLength(2)
  })

  it('takes a pid that another process has by now for dead', async () => {
    const { store, leaveHolder } = shared()
    await write(store, 'a', [[opening('a')]])
    leaveHolder('a', { pid: process.pid })
    await (await store.lease('a')).release()
  })

  it('never takes over from another machine, and names it', async () => {
    const { store, leaveHolder } = shared()
    await write(store, 'a', [[opening('a')]])
    leaveHolder('a', { host: 'elsewhere.example' })
    await expect(store.lease('a')).rejects.toThrow(/pid 1 on elsewhere\.example since .* another machine/)
    await expect(store.lease('a')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
  })

  it('lets one win where several find a dead holder at once', async () => {
    const { store, leaveHolder } = shared()
    await write(store, 'a', [[opening('a')]])
    const folder = mkdtempSync(join(tmpdir(), 'headrace-race-'))
    onTestFinished(() => removeFolder(folder))
    const children = Array.from({ length: 4 }, () => child('race'))
    for (const one of children) expect(await one.next()).toBe('ready')
    for (let round = 0; round < 40; round++) {
      leaveHolder('a')
      const start = join(folder, `${round}`)
      for (const one of children) one.say(start)
      for (const one of children) expect(await one.next()).toBe('waits')
      writeFileSync(start, '')
      const answers = await Promise.all(children.map((one) => one.next()))
      expect(answers.toSorted()).toEqual(['SESSION_BUSY', 'SESSION_BUSY', 'SESSION_BUSY', 'leased'])
      for (const one of children) one.say('release')
      for (const one of children) expect(await one.next()).toBe('released')
    }
    await (await store.lease('a')).release()
  }, 60_000)

  it('lets several processes make the place at once', async () => {
    const children = ['a', 'b', 'c', 'd'].map((id) => child('hold', id))
    for (const one of children) expect(await one.next()).toBe('leased')
    for (const one of children) await one.kill()
  }, 60_000)
}

function kills(shared: () => SharedStore, child: (mode: StoreMode, id?: string) => StoreProcess): void {
  it('loses nothing that was acknowledged when the writer is killed at any time, and goes on (L17)', async () => {
    const { store } = shared()
    let acknowledged = -1
    for (let round = 0; round < 8; round++) {
      const writer = child('append')
      const last = acknowledged
      for (let line = await writer.next(), lines = 1; line !== undefined; line = await writer.next(), lines++) {
        acknowledged = Number(line)
        if (lines === 1 + round * 7) writer.process.kill('SIGKILL')
      }
      await writer.gone
      const events = await read(store, 'a')
      expect(acknowledged).toBeGreaterThan(last)
      expect(events.length).toBeGreaterThan(acknowledged)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
    }
    await (await store.lease('a')).release()
  }, 60_000)

  it('keeps an append that returned, without any flush, and its list whole', async () => {
    const writer = child('once')
    expect(await writer.next()).toBe('appended')
    await writer.kill()
    expect(await read(shared().store, 'a')).toHaveLength(3)
  })
}

/** The letters that a log took, in its order. */
async function takenIn(store: SessionStore): Promise<readonly string[]> {
  return (await read(store, 'a')).flatMap(({ type, data }) => (type === 'prompt/queued' && data.letter !== undefined ? [data.letter] : []))
}

/** Takes what still waits. */
async function takeRest(store: SessionStore): Promise<void> {
  const lease = await store.lease('a')
  let next = (await read(store, 'a')).length
  for (const { id, kind, time: _, ...data } of await lease.letters()) {
    expect(kind).toBe('prompt')
    append(lease, next++, [{ type: 'prompt/queued', data: { ...data, owner: 'user', letter: id } } as never])
  }
  await lease.flush()
  expect(await lease.letters()).toEqual([])
  await lease.release()
}

function letters(shared: () => SharedStore, child: (mode: StoreMode, id?: string) => StoreProcess): void {
  it('has each letter taken once, in order, by a holder that is killed at any time between a letter and its event', async () => {
    const { store } = shared()
    await write(store, 'a', [[opening('a')]])
    const posted: string[] = []
    for (let round = 0; round < 6; round++) {
      const holder = child('take')
      expect(await holder.next()).toBe('taking')
      for (let index = 0; index < 12; index++) posted.push((await store.post('a', letter(`${posted.length}`))).letter!)
      if (round % 2 === 0) await until(async () => (await takenIn(store)).length > round * 8)
      await holder.kill()
    }
    await takeRest(store)
    expect(await takenIn(store)).toEqual(posted)
  })

  it('leaves no letter lying where a holder leaves as it comes', async () => {
    const { store } = shared()
    await write(store, 'a', [[opening('a')]])
    const desks = Array.from({ length: 3 }, () => child('desk'))
    for (const desk of desks) expect(await desk.next()).toBe('ready')
    for (const desk of desks) desk.say('go')
    for (const desk of desks) expect(await desk.next()).toBe('done')
    for (const desk of desks) desk.say('end')
    const taken = await takenIn(store)
    expect([taken.length, new Set(taken).size, await store.letters('a')]).toEqual([75, 75, []])
  })

  it('posts once what several processes post at once under one key, while it is taken', async () => {
    const { store } = shared()
    await write(store, 'a', [[opening('a')]])
    const holder = child('take')
    expect(await holder.next()).toBe('taking')
    const senders = Array.from({ length: 3 }, () => child('keys'))
    for (const sender of senders) expect(await sender.next()).toBe('ready')
    for (const sender of senders) sender.say('go')
    const ids: string[][] = senders.map(() => [])
    for (let index = 0; index < 20; index++) for (const [at, sender] of senders.entries()) ids[at]!.push((await sender.next())!)
    expect(ids[1]).toEqual(ids[0])
    expect(ids[2]).toEqual(ids[0])
    // At least: a key that was taken twice is to be shown, not waited for.
    await until(async () => (await takenIn(store)).length >= 20)
    await holder.kill()
    await takeRest(store)
    expect((await takenIn(store)).toSorted()).toEqual(ids[0]!.toSorted())
  })

  it('lets one follow what another process writes and is killed at, and never takes back what it gave', async () => {
    const { store } = shared()
    await write(store, 'a', [[opening('a')]])
    const follower = new Follower(store, 'a')
    for (let round = 1; round < 5; round++) {
      const writer = child('append')
      const before = follower.events.length
      await follower.until(({ events }) => events.length > before + 20)
      await writer.kill()
    }
    const events = await read(store, 'a')
    await follower.until((now) => now.events.length === events.length)
    expect([follower.resets, follower.events]).toEqual([0, events])
  })
}

function pauses(shared: () => SharedStore, child: (mode: StoreMode, id?: string) => StoreProcess): void {
  it('takes nothing from a holder that is stopped (SIGSTOP): it lives, and goes on (SIGCONT)', async () => {
    const { store } = shared()
    const writer = child('steps')
    writer.say('write')
    expect(await writer.next()).toBe('0')
    // It waits to be told more: stopped in the midst of a write it may hold what everyone needs to write.
    writer.process.kill('SIGSTOP')
    await expect(store.lease('a')).rejects.toMatchObject({ code: 'SESSION_BUSY', holder: expect.stringContaining(`pid ${writer.process.pid}`) as unknown })
    await expect(store.remove('a')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
    expect((await store.card('a')).holder).toContain(`${writer.process.pid}`)
    const { letter: id } = await store.post('a', letter('while it is stopped'))
    expect(await store.letters('a')).toMatchObject([{ id }])
    writer.process.kill('SIGCONT')
    writer.say('write')
    expect(await writer.next()).toBe('1')
    await writer.kill()
    expect(await read(store, 'a')).toHaveLength(2)
    await takeRest(store)
    expect(await takenIn(store)).toEqual([id])
  })
}
