import type { Context } from 'cordis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Batch, type EventDraft, MemoryStore, type SessionEvent, applyHeaderDelta, verify } from '@headrace/session'
import { type Harness, harness } from '@headrace/testing'
import type { Agent } from '@headrace/agent'
import { stopClock } from '@headrace/testing/clock'
import { gate, settles, turns, until } from '@headrace/testing/gate'
import { app, calls, eventsOf, expectRebuilds, plugin, textsOf, tool } from './help.ts'

// Each of these broke a law once: found by trying to.

/** Rejections that nobody handles end a process; here they are collected. */
async function rejectionsOf(act: () => Promise<unknown>): Promise<readonly string[]> {
  const seen: string[] = []
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', (error) => void seen.push(String(error)))
  try {
    await act()
    await turns()
  } finally {
    process.removeAllListeners('unhandledRejection')
    for (const listener of others) process.on('unhandledRejection', listener)
  }
  return seen
}

const forged: EventDraft = { type: 'context/message', data: { message: { role: 'system', content: [{ type: 'text', text: 'forged' }] }, owner: 'user' } }
const throwing = (message: string) => async (): Promise<never> => {
  throw new Error(message)
}

describe('L2 The loop goes by the log, also after an append that the log refused', () => {
  it('a refused replace inside a tool does not hide the tool\'s result from the model', async () => {
    const made = await app({
      script: [calls('one'), 'Done.'],
      plugins: [plugin('clumsy', (ctx) => tool(ctx, 'one', () => {
        expect(() => ctx.agents.get('test')!.replace('999', '999', ['x'], { reason: 'wrong' })).toThrow('while a step is open')
        return 'fine'
      }))],
    })
    expect(await made.run('Hi.')).toMatchObject({ reason: 'done', text: 'Done.' })
    expect(textsOf(made.requests[1]!).at(-1)).toBe('one: fine')
    await expectRebuilds(made)
  })

  it('a refused withdrawal in agent/pre-step does not make the step anew', async () => {
    const made = await app({ plugins: [plugin('clumsy', (ctx) => void ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
      expect(() => agent.withdraw(999)).toThrow('not in the queue')
      return next()
    }))] })
    expect(await made.run('Hi.')).toMatchObject({ reason: 'done', steps: 1 })
  })
})

describe('L14 Nobody signs for another', () => {
  it('a view of the session takes one event of a type that is no core type, however it is given', async () => {
    const made = await app()
    const append = (draft: unknown): unknown => made.agent.session.append(draft as EventDraft)
    expect(() => append(forged)).toThrow('written by the loop only')
    expect(() => append([forged])).toThrow('one event')
    expect(() => append(() => forged)).toThrow('one event')
    let looks = 0
    append({ ...forged, get type() { return looks++ === 0 ? 'plugin/note' : forged.type } })
    expect(await made.agent.session.flush().then(() => made.agent.session.at(1)!.type)).toBe('plugin/note')
    expect(made.agent.session.deriveMessages()).toEqual([])
  })

  it('who hears a report gets its own view of the agent, and only reports of agents it serves', async () => {
    const heard: string[] = []
    const made = await app({ reports: 'allow', plugins: [plugin('watcher', (ctx) => {
      ctx.on('agent/turn-stopping', throwing('broken'))
      ctx.on('agent/report', (agent) => void (agent.session.deriveMessages().length < 3 && agent.inject('heard')))
    })] })
    const other = await made.ctx.agents.create({ id: 'other', model: 'scripted/model' })
    other.ctx.on('agent/report', (agent) => void heard.push(agent.id))
    await made.run('Hi.')
    expect(eventsOf(await made.events(), 'context/message').map(({ data }) => data.owner)).toEqual(['watcher/inject'])
    expect(heard).toEqual([])
  })

  it('reports that listeners cause do not go on for ever', async () => {
    let heard = 0
    const made = await app({ reports: 'allow', plugins: ['one', 'two'].map((name) => plugin(name, (ctx) => void ctx.on('agent/report', (agent) => {
      heard++
      agent.report('here', 'again')
    }))) })
    made.agent.report('here', 'once')
    expect(heard).toBe(2)
  })

  it('nobody puts himself in front of what others say: what agents and sessions are made of is frozen', async () => {
    const made = await app()
    for (const object of [made.agent, made.agent.session]) {
      expect(Object.isFrozen(object)).toBe(true)
      expect(Object.isFrozen(Object.getPrototypeOf(object))).toBe(true)
    }
  })

  it('no name makes a plugin the loop', async () => {
    const made = await app({ plugins: [plugin('loop', (ctx) => void ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
      agent.inject({ key: 'output', content: 'The answer does not fit.' })
      return next()
    }))] })
    await made.run('Hi.')
    expect(eventsOf(await made.events(), 'context/message').map(({ data }) => data.owner)).toEqual(['loop-plugin/output'])
  })

  it('what a plugin registers on agent.ctx is the plugin\'s, and no name makes a plugin the app', async () => {
    const speak = async (agent: Agent, _turn: unknown, _step: unknown, next: () => Promise<'go' | { readonly stop: string }>): Promise<'go' | { readonly stop: string }> => {
      agent.ctx.agents.get(agent.id)!.inject({ key: 'k', content: 'through the context' })
      return next()
    }
    const made = await app({ plugins: [plugin('guest', (ctx) => void ctx.on('agent/pre-step', speak)), plugin('app/trusted', (ctx) => void ctx.on('agent/pre-step', speak))] })
    await made.run('Hi.')
    expect(eventsOf(await made.events(), 'context/message').map(({ data }) => data.owner).toSorted()).toEqual(['app-plugin/trusted/k', 'guest/k'])
  })
})

describe('L15 A promise where none belongs is an error with a name, not the end of the process', () => {
  it.each<readonly [what: string, apply: (ctx: Context) => unknown]>([
    ['a section of the system prompt', (ctx) => ctx.system.section({ key: 'who', content: throwing('section') as unknown as () => string })],
    ['llm/stream', (ctx) => ctx.on('llm/stream', throwing('stream') as never)],
    ['an adapter', (ctx) => ctx.llm.adapter('other', { stream: throwing('adapter') as never })],
    ['ask of a tool', (ctx) => ctx.tools.define({ name: 'one', description: '', parameters: { type: 'object' }, ask: throwing('ask') as never, execute: () => 'ran' })],
    ['the schema of a tool', (ctx) => ctx.tools.define({
      name: 'one', description: '', execute: () => 'ran',
      parameters: { '~standard': { version: 1, vendor: 'test', validate: throwing('schema'), jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) } } },
    })],
  ])('%s', async (what, apply) => {
    expect(await rejectionsOf(async () => {
      const made = await app({ reports: 'allow', script: [calls('one'), 'Done.'], plugins: [plugin('wrong', apply)], ...(what === 'an adapter' && { agent: { model: 'other/model' } }) })
      const { reason } = await made.run('Hi.')
      expect(reason).toBe(what.includes('tool') ? 'done' : 'error')
      expect(JSON.stringify(await made.events())).not.toContain('"ran"')
    })).toEqual([])
  })
})

describe('L16 Whatever a model calls, it gets a result', () => {
  it.each([
    ['minus zero', '{"a":-0}'],
    ['half a character', '{"a":"\\ud800"}'],
    ['what is nested too deeply', `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`],
    ['what is nested so deeply that a stack ends', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ])('arguments with %s are an error result, and the turn goes on', async (_, text) => {
    const made = await app({ script: [{ calls: [{ name: 'one', arguments: text }] }, 'Done.'], plugins: [plugin('tools', (ctx) => tool(ctx, 'one'))] })
    expect(await made.run('Hi.')).toMatchObject({ reason: 'done', text: 'Done.' })
    expect(textsOf(made.requests[1]!).at(-1)).toMatch(/^one: The arguments do not fit/)
    await expectRebuilds(made)
  })

  it('a listener may change an outcome that next() gave it: the model gets its text, not its JSON', async () => {
    const made = await app({ script: [calls('one'), 'Done.'], plugins: [plugin('sandbox', (ctx) => {
      tool(ctx, 'one')
      ctx.on('tools/execute', async (_agent, _turn, _call, next) => ({ ...await next(), content: [{ type: 'text', text: 'elsewhere' }] }))
      ctx.on('tools/post-execute', async (_agent, _turn, _call, { content }, next) => ({ ...await next(), outcome: { content: [...content, { type: 'text', text: ', and noted' }] } }))
    })] })
    await made.run('Hi.')
    expect(textsOf(made.requests[1]!).at(-1)).toBe('one: elsewhere, and noted')
  })

  it('an id that is made anew is not one that the model took', async () => {
    const boundary = 4
    const made = await app({ script: [{ calls: [{ name: 'one', id: `call_${boundary}_1` }, { name: 'one', id: '' }] }, 'Done.'], plugins: [plugin('tools', (ctx) => tool(ctx, 'one'))] })
    await made.run('Hi.')
    const log = await made.events()
    expect(eventsOf(log, 'step/start')[0]!.seq).toBe(boundary)
    const [answer] = eventsOf(log, 'assistant/message')
    const ids = answer!.data.message.content.map((block) => (block.type === 'tool-call' ? block.id : ''))
    expect(new Set(ids).size).toBe(2)
  })
})

describe('L17 What was paid for or acknowledged is not lost', () => {
  it('to a usage that is no number', async () => {
    const made = await app({ script: [{ text: 'Paid.', usage: { input: Number.NaN, output: undefined as unknown as number, cached: 7 } }] })
    expect(await made.run('Hi.')).toMatchObject({ reason: 'done', text: 'Paid.', usage: { input: 0, cached: 7, written: 0, output: 0 } })
  })

  it('a failure told in broken text, and an answer that is no JSON, reach agent/request-error and the log', async () => {
    const failures: string[] = []
    const made = await app({
      script: [{ error: { message: 'cut \ud83d', status: undefined as unknown as number } }, 'lost', 'Done.'],
      plugins: [plugin('again', (ctx) => {
        let attempts = 0
        ctx.on('llm/stream', async function* (_agent, _turn, _request, next) {
          attempts++
          yield* next()
          if (attempts === 2) yield { type: 'text', text: 'x', metadata: { signature: undefined } as never }
        })
        ctx.on('agent/request-error', async (_agent, _turn, _step, { kind }) => {
          failures.push(kind)
          return 'retry'
        })
      })],
    })
    expect(await made.run('Hi.')).toMatchObject({ reason: 'done', text: 'Done.' })
    expect(failures).toEqual(['server', 'unknown'])
    expect(eventsOf(await made.events(), 'request/end').map(({ data }) => data.outcome)).toEqual(['error', 'error', 'ok'])
  })

  it('a side request goes on when the step ends in which it began', async () => {
    const { promise, open } = gate()
    const asked = gate()
    let title: Promise<{ readonly message: unknown }> | undefined
    const made = await app({
      script: async (_request, index) => {
        if (index === 1) {
          asked.open()
          await promise
        }
        return index === 0 ? calls('one') : index === 1 ? 'A title' : 'Done.'
      },
      plugins: [plugin('titles', (ctx) => tool(ctx, 'one', () => {
        title = ctx.agents.get('test')!.ask(['Title?'], { purpose: 'title' })
        return asked.promise.then(() => 'fine')
      }))],
    })
    expect(await made.run('Hi.')).toMatchObject({ reason: 'done' })
    open()
    expect(await title).toMatchObject({ message: { content: [{ text: 'A title' }] } })
    await expectRebuilds(made)
  })
})

describe('Every promise settles', () => {
  it('of a prompt that a plugin of the agent makes while the agent ends', async () => {
    const made = await app()
    let late: Promise<unknown> | undefined
    await made.agent.ctx.plugin({ name: 'last', apply: (ctx: Context) => void ctx.effect(() => () => { late = made.agent.prompt('Late.').result }) })
    await made.agent.dispose()
    expect(await settles(late!)).toMatchObject({ reason: 'withdrawn' })
  })

  it('of a prompt that a listener withdraws as soon as it is in the log', async () => {
    const made = await app()
    const stop = made.agent.session.on('event', ({ seq, type }) => { if (type === 'prompt/queued') made.agent.withdraw(seq) })
    const { result } = made.agent.prompt('Hi.')
    stop()
    expect(await settles(result)).toMatchObject({ reason: 'withdrawn' })
  })

  it('of a side request that hangs while nothing runs, when the agent ends; the log says so', async () => {
    const made = await app({ script: (_request, index) => (index === 1 ? { hang: true } : 'Done.') })
    await made.run('Hi.')
    const asked = made.agent.ask(['Title?'], { purpose: 'title' }).catch((error: unknown) => String(error))
    await until(() => made.requests.length === 2)
    await made.agent.dispose()
    expect(await settles(asked)).toContain('disposed')
    expect((await made.events()).at(-1)).toMatchObject({ type: 'request/end', data: { outcome: 'aborted' } })
  })

  it('of a turn whose context never comes, when it is cancelled', async () => {
    const asked = gate()
    const made = await app({ agent: { context: () => (asked.open(), new Promise(() => undefined)) } })
    const handle = made.agent.prompt('Hi.')
    await asked.promise
    handle.cancel()
    expect(await settles(handle.result)).toMatchObject({ reason: 'cancelled' })
  })

  it('of a steer that is taken back while agent/prompt-submit looks at it: withdrawn, and the turn goes on', async () => {
    const [looked, hold] = [gate(), gate()]
    const made = await app({ script: [calls('one'), 'Done.'], plugins: [plugin('slow', (ctx) => {
      tool(ctx, 'one')
      ctx.on('agent/prompt-submit', async (_agent, _turn, { steer }, next) => {
        if (steer) looked.open()
        if (steer) await hold.promise
        return next()
      })
    })] })
    const handle = made.agent.prompt('Hi.')
    const stop = made.agent.session.on('event', ({ type }) => { if (type === 'tool/start') steered = made.agent.steer('No, wait.') as typeof handle })
    let steered: typeof handle | undefined
    await looked.promise
    stop()
    steered!.cancel('never mind')
    hold.open()
    expect(await settles(handle.result)).toMatchObject({ reason: 'done', text: 'Done.' })
    expect(await settles(steered!.result)).toMatchObject({ reason: 'withdrawn' })
  })
})

describe('L17 A store that fails for a while', () => {
  it('is named to who waits; the next prompt closes what was open, honestly, and goes on', async () => {
    const store = new MemoryStore()
    const create = store.create.bind(store)
    let full = false
    store.create = async (id) => {
      const lease = await create(id)
      return { ...lease, append: (batch) => {
        if (full) throw new Error('the disk is full')
        lease.append(batch)
      } }
    }
    const made = await app({ store, reports: 'allow', script: [calls('one'), 'Going on.', 'Done.'], plugins: [plugin('tools', (ctx) => tool(ctx, 'one', () => { full = true }))] })
    expect(await settles(made.run('Hi.'))).toMatchObject({ reason: 'error', error: { message: 'the disk is full' } })
    full = false
    expect(await settles(made.run('Again.'))).toMatchObject({ reason: 'done', text: 'Done.' })
    expect(textsOf(made.requests[1]!).at(-1)).toMatch(/^one: This call was started, but its outcome is unknown/)
    await expectRebuilds(made)
  })
})

describe('L18 A lease is given back', () => {
  it('where the plugin is gone that asked for the agent', async () => {
    const store = new MemoryStore()
    const create = store.create.bind(store)
    const made = await app({ store })
    const hold = gate()
    store.create = (id) => hold.promise.then(() => create(id))
    let creating: Promise<unknown> | undefined
    const fiber = await made.ctx.plugin(plugin('brief', (ctx) => { creating = ctx.agents.create({ id: 'child', model: 'scripted/model' }).catch((error: unknown) => error) }))
    const gone = fiber.dispose()
    await turns()
    hold.open()
    await gone
    expect(await creating).toBeInstanceOf(Error)
    expect(made.ctx.agents.ids()).toEqual(['test'])
    expect((await made.ctx.agents.resume('child')).id).toBe('child')
  })

  it('where the store failed: the session can be resumed in the same process', async () => {
    const store = new MemoryStore()
    const create = store.create.bind(store)
    let full = false
    const failing = async (): Promise<void> => { if (full) throw new Error('the disk is full') }
    store.create = async (id) => {
      const lease = await create(id)
      return { ...lease, flush: failing, release: () => lease.release().then(failing) }
    }
    const made = await harness({ store })
    onTestFinished(() => made.ctx.fiber.dispose().then(() => undefined))
    full = true
    expect(await settles(made.run('Hi.'))).toMatchObject({ reason: 'error' })
    await expect(made.agent.dispose()).rejects.toThrow('the disk is full')
    expect(made.ctx.agents.ids()).toEqual([])
    expect((await made.ctx.agents.resume('test')).id).toBe('test')
  })
})

describe('L19 Unloading unloads', () => {
  it('a tool whose plugin went between its permission and its turn is not run', async () => {
    const [looked, hold] = [gate(), gate()]
    let ran = false
    const made = await app({ script: [calls('gone', 'other'), 'Done.'], plugins: [plugin('judge', (ctx) => {
      tool(ctx, 'other')
      ctx.on('tools/pre-execute', async (_agent, _turn, { name }, next) => {
        if (name === 'other') looked.open()
        if (name === 'other') await hold.promise
        return next()
      })
    })] })
    const fiber = await made.ctx.plugin(plugin('leaver', (ctx) => tool(ctx, 'gone', () => { ran = true })))
    const turn = made.run('Hi.')
    await looked.promise
    await fiber.dispose()
    hold.open()
    await turn
    expect(ran).toBe(false)
    expect(textsOf(made.requests[1]!)).toContain('gone: The tool gone is gone: its plugin was unloaded.')
  })

  it('defaults of a plugin that left do not come back, nor do they take another\'s away', async () => {
    const made = await app()
    const saying = (name: string) => plugin(name, (ctx) => void ctx.agents.default({ model: `scripted/${name}` }))
    const [one, two] = [await made.ctx.plugin(saying('one')), await made.ctx.plugin(saying('two'))]
    await one.dispose()
    await (await made.ctx.agents.create({ id: 'a' })).prompt('Hi.').result
    expect(made.requests.at(-1)!.config.model).toBe('scripted/two')
    await two.dispose()
    expect(await (await made.ctx.agents.create({ id: 'b' })).prompt('Hi.').result).toMatchObject({ reason: 'error', error: { code: 'CONFIG_INVALID' } })
  })

  it('a schema that is checked later is refused: it would let everything pass, and end the process', async () => {
    const made = await app()
    expect(() => made.ctx.tools.define({ name: 'one', description: '', parameters: { $async: true, type: 'object', required: ['a'] }, execute: () => 'ran' })).toThrow('$async')
  })

  it('a schema that says it is of an older draft is taken by its words, one that is wrong is refused', async () => {
    const made = await app({ script: [{ calls: [{ name: 'one', arguments: '{"a":1}' }] }, 'Done.'] })
    const define = (name: string, parameters: object): unknown => made.ctx.tools.define({ name, description: '', parameters: parameters as { type: 'object' }, execute: () => 'ran' })
    define('one', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { a: { type: 'string' } } })
    expect(() => define('two', { type: 'object', properties: { a: { type: 'strnig' } } })).toThrow('its JSON Schema is wrong')
    expect(() => define('three', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { a: { type: 'strnig' } } })).toThrow('its JSON Schema is wrong')
    await made.run('Hi.')
    expect(textsOf(made.requests[1]!).at(-1)).toContain('a must be string')
  })

  it('a plugin can be loaded again whose tool\'s schema has an $id', async () => {
    const made = await app()
    const schema = plugin('schema', (ctx) => void ctx.tools.define({ name: 'one', description: '', parameters: { $id: 'https://example.org/one', type: 'object' }, execute: () => 'fine' }))
    await (await made.ctx.plugin(schema)).dispose()
    await made.ctx.plugin(schema)
    await made.run('Hi.')
    expect(made.requests[0]!.tools).toHaveLength(1)
  })
})

describe('Time', () => {
  it('more than a timer can wait for is no limit, where it would go off at once', async () => {
    const clock = stopClock()
    const made = await app({
      script: [calls('one', 'two'), 'Done.'], settings: { seamTimeout: 1e12, toolTimeout: 1e12, limits: { time: 1e12 } },
      plugins: [plugin('slow', (ctx) => {
        const aborted = (_input: unknown, { signal }: { readonly signal: AbortSignal }): Promise<string> =>
          clock.pass(1_000).then(() => String(signal.aborted))
        ctx.tools.define({ name: 'one', description: '', parameters: { type: 'object' }, timeout: Infinity, execute: aborted })
        ctx.tools.define({ name: 'two', description: '', parameters: { type: 'object' }, execute: aborted })
        ctx.on('agent/request', (_agent, _turn, _step, _config, next) => clock.pass(1_000).then(next))
      })],
    })
    expect(await made.run('Hi.')).toMatchObject({ reason: 'done' })
    expect(textsOf(made.requests[1]!).slice(-2)).toEqual(['one: false', 'two: false'])
  })
})

describe('Hostile logs', () => {
  it('a delta that keeps lines twice is refused: thirty of them would make a text of a thousand million lines', async () => {
    const made = await app({ plugins: [plugin('who', (ctx) => ctx.system.section({ key: 'who', content: 'a\nb' }))] })
    await made.run('Hi.')
    const log = [...await made.events()]
    for (let lines = 2; log.length < 60; lines *= 2) {
      log.push({ seq: log.length, time: 0, type: 'request/header-delta', data: { delta: { system: { head: lines, tail: lines, lines: [] } } } } satisfies SessionEvent)
    }
    expect(verify(log).difference?.what).toContain('keeps 4 lines of 2')
    expect(() => applyHeaderDelta({ config: { model: 'p/m' }, owners: {} }, { system: { head: 1, tail: 0, lines: [] } })).toThrow('keeps 1 lines of 0')
  })

  it.each([[{ cwd: 5 }, /cwd must be a string/], [{ context: null }, undefined]])('one with %j is refused or resumed, and leaves no lease behind', async (wrong, problem) => {
    const made = await app()
    await made.run('Hi.')
    await made.agent.dispose()
    const log = (await made.events()).map((event) => {
      const target = 'cwd' in wrong ? 'session/open' : 'prompt/queued'
      return event.type === target ? { ...event, data: { ...event.data, ...wrong } } as SessionEvent : event
    })
    const store = new MemoryStore()
    await store.create('test').then(async (lease) => {
      lease.append(new Batch(log))
      await lease.release()
    })
    const other = await harness({ store, agent: { id: 'second' } })
    onTestFinished(() => other.dispose())
    const resumed = await other.ctx.agents.resume('test').catch((error: unknown) => String(error))
    if (problem) expect(resumed).toMatch(problem)
    else expect((resumed as Agent).id).toBe('test')
    if (problem) await (await store.lease('test')).release()
  })
})

describe('A turn that is open and does not run', () => {
  /** A session that was parked in its second turn and is resumed, while the app's only place is another's. */
  async function resumedInLine(): Promise<{ readonly made: Harness; readonly agent: Agent; readonly free: () => Promise<void> }> {
    const [answered, standing, hold] = [gate(), gate(), gate()]
    const made = await app({
      settings: { concurrentTurns: 1 },
      script: async (_request, index) => {
        if (index === 1) await answered.promise
        return 'Done.'
      },
    })
    await made.run('One.')
    const { result } = made.agent.prompt('Two.')
    await until(() => made.requests.length === 2)
    const parked = made.agent.park()
    answered.open()
    await parked
    expect(await result).toMatchObject({ reason: 'parked' })
    const other = await made.ctx.agents.create({ id: 'other', model: 'scripted/model' })
    other.ctx.on('agent/pre-step', (_agent, _turn, _step, next) => (standing.open(), hold.promise.then(next)))
    const turn = other.prompt('Mine first.')
    await standing.promise
    const agent = await made.ctx.agents.resume('test')
    await until(() => agent.state === 'waiting')
    return { made, agent, free: async () => {
      hold.open()
      await turn.result
      await agent.idle()
    } }
  }

  it('is ended by cancel, and is not run when its place comes', async () => {
    const { made, agent, free } = await resumedInLine()
    agent.cancel('enough')
    await free()
    expect(eventsOf([...agent.session.events()], 'turn/end').at(-1)!.data).toMatchObject({ turn: 2, reason: 'cancelled', error: { message: 'enough' } })
    expect(made.requests).toHaveLength(3)
  })

  it('is ended and taken back by a rewind with cancel', async () => {
    const { agent, free } = await resumedInLine()
    expect((await agent.rewind({ cancel: true })).data.turn).toBe(2)
    expect(textsOf(agent.session.deriveMessages())).toEqual(['One.', 'Done.'])
    await free()
    expect(agent.session.owed).toBe(false)
  })

  it('keeps its place when a rewind is refused', async () => {
    const { agent, free } = await resumedInLine()
    await expect(agent.rewind()).rejects.toThrow('a turn runs')
    await expect(agent.rewind({ turns: 9, cancel: true })).rejects.toThrow('cannot be taken back')
    expect(agent.state).toBe('waiting')
    await free()
    expect(eventsOf([...agent.session.events()], 'turn/end').at(-1)!.data).toMatchObject({ turn: 2, reason: 'done' })
  })

  it('is taken back where a store that failed for a while left it, its step with it', async () => {
    const store = new MemoryStore()
    const create = store.create.bind(store)
    let full = false
    store.create = async (id) => {
      const lease = await create(id)
      return { ...lease, append: (batch) => {
        if (full) throw new Error('the disk is full')
        lease.append(batch)
      } }
    }
    const made = await app({ store, reports: 'allow', script: ['One.', calls('one'), 'Done.'], plugins: [plugin('tools', (ctx) => tool(ctx, 'one', () => { full = true }))] })
    await made.run('Hi.')
    expect(await settles(made.run('Again.'))).toMatchObject({ reason: 'error', error: { message: 'the disk is full' } })
    made.agent.cancel('while it is full')
    full = false
    expect((await made.agent.rewind({ cancel: true })).data.turn).toBe(2)
    expect(await settles(made.run('And now?'))).toMatchObject({ reason: 'done' })
    expect(textsOf(made.requests.at(-1)!)).toEqual(['Hi.', 'One.', 'And now?'])
    await expectRebuilds(made)
  })
})
