import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Context } from 'cordis'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import * as agentPlugin from '@headrace/agent'
import { textOf } from '@headrace/message'
import { type FileLayer, JsonlStore } from '@headrace/plugin-store-jsonl'
import { removeFolder } from '@headrace/testing/folder'
import { type Script, scriptedAdapter } from '@headrace/testing'
import { PowerCutFiles } from '../../plugins/store-jsonl/tests/faulty-files.ts'
import { figure } from '../reliability/figures.ts'
import { amount, seed } from '../scale.ts'
import { expectFinished, expectKept } from './expect.ts'
import { Killer } from './killer.ts'
import { type Ack, watched } from './watched.ts'
import { PROMPTS, TITLE, drive, work } from './work.ts'

const CUTS = Number(process.env.HEADRACE_CRASH_KILLS ?? amount(12, 50, 1_000))
const ID = 'power'

/** What reaches the disk when the power fails: bytes that were not synced, and NUL bytes in the place of some behind them. */
interface Cut {
  /** Before which operation of the file layer, from 0; one that waits for the disk is in the middle then. */
  readonly at: number
  readonly torn: number
  readonly zeros: number
}

/** A machine whose power fails: its disk keeps what was synced, and its process says nothing more. */
class Machine {
  readonly root = mkdtempSync(join(tmpdir(), 'headrace-power-'))
  readonly acks: Ack[] = []
  operations = 0
  private readonly disk = new PowerCutFiles(this.root)
  private readonly failed = new Set<string>()

  /** One boot: the work is begun or resumed, until it is done or the power fails. */
  async live(mode: 'begin' | 'resume', cut?: Cut): Promise<'done' | 'cut'> {
    let off = (): void => undefined
    const power = new Promise<'cut'>((resolve) => (off = () => resolve('cut')))
    let on = true
    this.operations = 0
    const files = this.layer(() => {
      if (on && this.operations++ === cut?.at) {
        on = false
        this.disk.cut(cut.torn, cut.zeros)
        off()
      }
      if (!on) throw new Error('the power is off')
    })
    const ctx = new Context()
    const side = { say: (ack: Ack) => void (on && this.acks.push(ack)) }
    const work = this.work(ctx, mode, files, side).then(() => 'done' as const, (error: unknown) => {
      if (on) throw error
      return power
    })
    const end = await Promise.race([work, power])
    // What is left of the process is not ours to look at any more.
    await ctx.fiber.dispose().catch(() => undefined)
    await work
    return end
  }

  get store(): JsonlStore {
    return new JsonlStore({ directory: join(this.root, 'sessions'), fsync: 'barrier' })
  }

  remove(): void {
    removeFolder(this.root)
  }

  private async work(ctx: Context, mode: 'begin' | 'resume', files: FileLayer, side: { say(ack: Ack): void }): Promise<void> {
    const killer = new Killer(undefined)
    await ctx.plugin(agentPlugin, { strict: true, grace: 20 })
    const store = new JsonlStore({ directory: join(this.root, 'sessions'), fsync: 'barrier', files })
    ctx.sessions.store(watched(store, killer, side))
    ctx.llm.adapter('scripted', scriptedAdapter(this.script))
    await ctx.plugin(work(killer, side))
    if (mode === 'begin') {
      const agent = await ctx.agents.create({ id: ID, model: 'scripted/model' })
      side.say({ what: 'created' })
      return drive(agent, side, store)
    }
    const agent = await ctx.agents.resume(ID)
    agent.wake()
    await agent.idle()
  }

  /** What the model says, as the crash suite's does; the second prompt's first request fails once. */
  private readonly script: Script = ({ messages }) => {
    if (messages.some((message) => textOf(message) === TITLE)) return 'A title'
    const asked = messages.findLastIndex((message) => PROMPTS.includes(textOf(message) as never))
    if (messages.slice(asked).some(({ role }) => role === 'tool')) return { text: 'That is all there is to see.', pieces: 5 }
    const prompt = textOf(messages[asked]!)
    if (prompt === PROMPTS[1] && !this.failed.has(prompt)) {
      this.failed.add(prompt)
      return { error: { kind: 'server' } }
    }
    return { text: 'I look around.', pieces: 3, calls: ['left', 'right', 'alone'].map((name, index) => ({ name, id: `${prompt} ${index}` })) }
  }

  private layer(operate: () => void): FileLayer {
    return new Proxy<FileLayer>(this.disk, {
      get: (disk, key: keyof FileLayer) => (...args: never[]): unknown => {
        // What is closed by a process whose machine is off is nobody's concern.
        if (key === 'close') return (disk.close as (...args: unknown[]) => unknown)(...args)
        operate()
        const done = (disk[key] as (...args: unknown[]) => unknown).call(disk, ...args)
        if (!(done instanceof Promise)) return done
        // The power may fail before the disk has answered: nothing is acknowledged then.
        return done.then((value: unknown) => {
          operate()
          return value
        })
      },
    })
  }
}

async function operationsOf(): Promise<number> {
  const machine = new Machine()
  try {
    expect(await machine.live('begin')).toBe('done')
    await expectFinished(machine.store, ID, machine.acks, [], 'with power')
    return machine.operations
  } finally {
    machine.remove()
  }
}

it(`${CUTS} power cuts anywhere in a run, with what was not synced lost or torn: the acknowledged is there, and a resume finishes`, async () => {
  const operations = await operationsOf()
  const counts = { cuts: 0, nothing: 0, acknowledgements: 0 }
  const rest = fc.oneof(fc.constant(0), fc.nat(6_000))
  const cut = fc.record({ at: fc.noBias(fc.nat(operations - 1)), torn: rest, zeros: rest })
  await fc.assert(fc.asyncProperty(cut, fc.option(cut), async (first, second) => {
    const machine = new Machine()
    try {
      if (await machine.live('begin', first) === 'cut') counts.cuts++
      let log = await expectKept(machine.store, ID, machine.acks, 'after the cut')
      if (log.length === 0) return void counts.nothing++
      if (second && await machine.live('resume', second) === 'cut') {
        counts.cuts++
        log = await expectKept(machine.store, ID, machine.acks, 'after the second cut')
      }
      expect(await machine.live('resume')).toBe('done')
      await expectFinished(machine.store, ID, machine.acks, log, 'at the end')
      counts.acknowledgements += machine.acks.filter(({ what }) => what === 'durable').length
    } finally {
      machine.remove()
    }
  }), { numRuns: CUTS, seed })
  console.info(`power cuts: ${JSON.stringify(counts)} of ${operations} operations`)
  expect(counts.nothing, `HEADRACE_SEED=${seed}`).toBeLessThan(Math.max(CUTS / 3, 10))
  figure('crash', 'power cut', counts)
}, 240_000 + CUTS * 20_000)
