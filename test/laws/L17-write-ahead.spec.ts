import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { type SessionEvent, rebuild, verify } from '@headrace/session'
import { removeFolder } from '@headrace/testing/folder'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { PowerCutFiles } from '../../plugins/store-jsonl/tests/faulty-files.ts'
import { gate } from '@headrace/testing/gate'
import { bytesOf, calls, eventsOf, plugin, textsOf, tool } from './help.ts'

/** A disk that forgets what was not synced, and an app whose log is on it. After a cut the app is as good as dead. */
class Machine {
  readonly directory: string
  readonly files: PowerCutFiles
  made!: Harness

  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), 'headrace-'))
    this.files = new PowerCutFiles(this.directory)
    onTestFinished(() => removeFolder(this.directory))
  }

  async boot(options: HarnessOptions = {}): Promise<Harness> {
    this.made = await harness({ store: new JsonlStore({ directory: this.directory, fsync: 'barrier', files: this.files }), ...options })
    onTestFinished(() => this.made.dispose().catch(() => undefined))
    return this.made
  }

  /** The power fails: what is in the log then. */
  async cut(torn = 0): Promise<readonly SessionEvent[]> {
    this.files.cut(torn)
    return this.log()
  }

  async log(): Promise<readonly SessionEvent[]> {
    const events: SessionEvent[] = []
    for await (const batch of new JsonlStore({ directory: this.directory, fsync: 'barrier' }).load('test')) events.push(...batch)
    expect(verify(events)).not.toHaveProperty('difference')
    return events
  }
}

describe('L17 Write ahead', () => {
  it('the log is durable before a request leaves: after a power cut it holds the request, byte for byte', async () => {
    for (const at of [0, 1, 2]) {
      const machine = new Machine()
      let log: readonly SessionEvent[] | undefined
      let failed: unknown
      const left = gate()
      const { agent, requests } = await machine.boot({
        script: async (_request, index) => {
          if (index === at) {
            log = await machine.cut().catch((error: unknown) => void (failed = error))
            left.open()
            return { hang: true }
          }
          return index === 0 ? calls('look') : 'Done.'
        },
        plugins: [plugin('p', (ctx) => {
          tool(ctx, 'look')
          ctx.agents.prefix({ key: 'p', content: () => 'prefix' })
          ctx.agents.after({ key: 'a', content: (_agent, _turn, step) => `after ${step.number}` })
        })],
      })
      agent.prompt('One.')
      agent.prompt('Two.')
      await left.promise
      expect(failed).toBeUndefined()
      const request = requests[at]!
      expect(bytesOf(rebuild(log!, request.dispatch!))).toBe(bytesOf(request))
    }
  })

  it('a side request’s too', async () => {
    const machine = new Machine()
    let log: readonly SessionEvent[] = []
    const { agent, run, requests } = await machine.boot({ script: async (_request, index) => {
      if (index === 1) log = await machine.cut()
      return 'ok'
    } })
    await run('One.')
    await agent.ask(['Title?'], { purpose: 'title' }).catch(() => undefined)
    expect(bytesOf(rebuild(log, requests[1]!.dispatch!))).toBe(bytesOf(requests[1]!))
  })

  it('and before tools run: every call of the batch is known to have been started', async () => {
    const machine = new Machine()
    const logs: (readonly SessionEvent[])[] = []
    const ran = gate()
    const { agent } = await machine.boot({
      script: [calls('look', 'look')],
      plugins: [plugin('p', (ctx) => tool(ctx, 'look', async () => {
        if (logs.length === 0) logs.push(await machine.cut())
        ran.open()
        return new Promise(() => undefined)
      }))],
    })
    agent.prompt('One.')
    await ran.promise
    expect(eventsOf(logs[0]!, 'assistant/message')).toHaveLength(1)
    expect(eventsOf(logs[0]!, 'tool/start').map(({ data }) => data.index)).toEqual([0, 1])
  })

  it('what is acknowledged, a crash does not lose: a session, a prompt, a turn’s end, a blob', async () => {
    const created = new Machine()
    await created.boot()
    expect((await created.cut()).map(({ type }) => type)).toEqual(['session/open'])

    const prompted = new Machine()
    await (await prompted.boot({ script: [{ hang: true }] })).agent.prompt('Keep me.').accepted
    expect(eventsOf(await prompted.cut(), 'prompt/queued')).toMatchObject([{ data: { input: { content: [{ text: 'Keep me.' }] } } }])

    const ended = new Machine()
    expect(await (await ended.boot()).run('One.')).toMatchObject({ reason: 'done', text: 'ok' })
    const log = await ended.cut()
    expect(eventsOf(log, 'turn/end')).toMatchObject([{ data: { reason: 'done' } }])
    expect(eventsOf(log, 'assistant/message')).toHaveLength(1)

    const pictured = new Machine()
    const { agent } = await pictured.boot()
    const { digest } = await agent.putImage(Buffer.from('a picture'), 'image/png')
    await pictured.cut()
    expect(Buffer.from((await new JsonlStore({ directory: pictured.directory, fsync: 'barrier' }).getBlob('test', digest))!).toString()).toBe('a picture')
  })

  it('nor does a resume: what it repaired is durable before it returns', async () => {
    const machine = new Machine()
    const ran = gate()
    await machine.boot({ script: [calls('look')], plugins: [plugin('p', (ctx) => tool(ctx, 'look', () => (ran.open(), new Promise(() => undefined))))] })
    machine.made.agent.prompt('One.')
    await ran.promise
    await machine.cut()
    rmSync(join(machine.directory, 'test.lock'), { force: true })
    const second = await harness({ store: new JsonlStore({ directory: machine.directory, fsync: 'barrier', files: machine.files }), agent: { id: 'other' } })
    onTestFinished(() => second.dispose().catch(() => undefined))
    await second.ctx.agents.resume('test', { turn: 'close' })
    const log = await machine.cut()
    expect(eventsOf(log, 'tool/result').map(({ data }) => data.outcome)).toEqual(['unknown'])
    expect(log.at(-1)).toMatchObject({ type: 'turn/end', data: { reason: 'lost' } })
  })

  it('what belongs together is one append, all or nothing, wherever the power fails in it', async () => {
    const together = [['user/message', 'context/message'], ['request/header', 'request/dispatch'], ['request/header-delta', 'request/dispatch'], ['request/end', 'assistant/message'], ['tool/start', 'tool/start']]
    const machine = new Machine()
    const { run, agent } = await machine.boot({
      script: [calls('look', 'look'), 'Done.'],
      plugins: [plugin('p', (ctx) => {
        tool(ctx, 'look')
        ctx.on('agent/prompt-submit', async (_agent, _turn, _submission, next) => ({ ...await next(), additionalContext: ['with it'] }))
        ctx.agents.after({ key: 'a', content: (_agent, _turn, step) => `after ${step.number}` })
      })],
    })
    await run('One.')
    await agent.dispose()
    // One append a line: a line that is torn anywhere is not there.
    const lines = readFileSync(join(machine.directory, 'test.jsonl'), 'utf8').trimEnd().split('\n')
    const log = await machine.log()
    let seq = 0
    const appends: (readonly string[])[] = []
    for (const line of lines) {
      const types = log.slice(seq).map(({ type }) => type)
      const count = line.split('"seq":').length - 1
      appends.push(types.slice(0, count))
      seq += count
    }
    expect(seq).toBe(log.length)
    for (const group of together) expect(appends).toContainEqual(group)
  })

  it('a cut at any byte of what was not synced leaves a log that goes on', async () => {
    const machine = new Machine()
    let torn = 0
    let last = -1
    for (let round = 0; round < 12; round++) {
      const { ctx } = await machine.boot({ script: (_request, index) => (index === 0 ? calls('look') : 'Done.'), agent: round === 0 ? {} : { id: `other-${round}` }, plugins: [plugin('p', (inner) => tool(inner, 'look', () => 'x'.repeat(200)))] })
      const agent = round === 0 ? machine.made.agent : await ctx.agents.resume('test', { model: 'scripted/model' })
      agent.wake()
      const handle = agent.prompt(`Round ${round}.`)
      await handle.accepted
      for await (const event of handle) if (event.type === 'tool/result') break
      torn = (torn + 61) % 700
      const log = await machine.cut(torn)
      rmSync(join(machine.directory, 'test.lock'), { force: true })
      expect(log.length).toBeGreaterThan(last)
      expect(eventsOf(log, 'prompt/queued').map(({ data }) => textsOf([data.input])[0])).toContain(`Round ${round}.`)
      last = log.length - 1
    }
    const { ctx } = await machine.boot({ agent: { id: 'last' } })
    const agent = await ctx.agents.resume('test')
    agent.wake()
    await agent.idle()
    expect(agent.session.owed).toBe(false)
    expect(verify(agent.session.events())).not.toHaveProperty('difference')
  })
})
