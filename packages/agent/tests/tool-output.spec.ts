import type { Context } from 'cordis'
import type { McpResult, ToolDefinition, ToolOutput } from '@headrace/agent'
import { type SessionEvent, blobsOf, verify } from '@headrace/session'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { describe, expect, it, onTestFinished } from 'vitest'

type Execute = ToolDefinition<Record<string, never>>['execute']

const parameters = { type: 'object' } as const

async function withTools(tools: Record<string, Execute>, options: HarnessOptions = {}): Promise<Harness> {
  const plugin = {
    name: 'some',
    inject: ['tools'],
    apply: async (ctx: Context) => {
      for (const [name, execute] of Object.entries(tools)) ctx.tools.define<Record<string, never>>({ name, description: '', parameters, execute })
    },
  }
  const calls = Object.keys(tools).map((name) => ({ name }))
  const made = await harness({ script: [{ calls }, 'seen'], ...options, plugins: [plugin, ...(options.plugins ?? [])] })
  onTestFinished(() => made.dispose())
  return made
}

const resultsOf = async (made: Harness) => (await made.events()).flatMap((event) => (event.type === 'tool/result' ? [event.data] : []))

/** What a tool that gives this back comes to in the log. */
async function resultOf(output: unknown, options?: HarnessOptions): Promise<SessionEvent<'tool/result'>['data']> {
  const made = await withTools({ it: () => output as ToolOutput }, options)
  expect((await made.run('Do it.')).reason).toBe('done')
  expect(verify(await made.events())).not.toHaveProperty('difference')
  return (await resultsOf(made))[0]!
}

async function contentOf(output: unknown): Promise<unknown> {
  return (await resultOf(output)).message.content[0].content
}

const PNG = Buffer.from('89504e470d0a1a0a', 'hex').toString('base64')

describe('what a tool gives back', () => {
  it.each<[string, unknown, unknown]>([
    ['a text', 'x', [{ type: 'text', text: 'x' }]],
    ['nothing', undefined, []],
    ['null', null, [{ type: 'text', text: 'null' }]],
    ['JSON, as text', { rows: [1, 2], none: undefined }, [{ type: 'text', text: '{\n "rows": [\n  1,\n  2\n ]\n}' }]],
    ['texts and blocks', ['a', { type: 'text', text: 'b' }], [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }]],
    ['a list of texts, which is JSON', ['a'], [{ type: 'text', text: '[\n "a"\n]' }]],
    ['an outcome of a text', { content: 'x' }, [{ type: 'text', text: 'x' }]],
    ['an outcome of JSON', { content: { rows: 3 }, details: {} }, [{ type: 'text', text: '{\n "rows": 3\n}' }]],
    ['JSON of its own that has a content', { content: 'x', name: 'y' }, [{ type: 'text', text: '{\n "content": "x",\n "name": "y"\n}' }]],
    ['JSON of its own that has an error', { content: 'x', error: 'ENOENT' }, [{ type: 'text', text: '{\n "content": "x",\n "error": "ENOENT"\n}' }]],
  ])('is shown to the model: %s', async (_, output, content) => {
    expect(await resultOf(output)).toMatchObject({ outcome: 'done', message: { content: [{ content }] } })
  })

  class Point {
    readonly x = 1
  }
  it.each<[string, unknown, string]>([
    ['a date', new Date(0), 'a Date; give value.toISOString()'],
    ['a date inside', { at: [new Date(0)] }, 'result of it.at[0] is a Date; give value.toISOString()'],
    ['a generator', (function* () { yield 1 })(), 'such as a generator; give [...value], or make execute async * to yield progress'],
    ['an instance of a class', new Point(), 'an instance of Point; give a plain object, such as { ...value }'],
    ['bytes', new Uint8Array(2), 'bytes (Uint8Array); give [await run.agent.putImage(bytes, type)]'],
    ['a map', new Map([[1, 2]]), 'a Map; give Object.fromEntries(map)'],
    ['a set', new Set([1]), 'a Set; give [...set]'],
    ['an error', new RangeError('x'), 'an RangeError; throw it'],
    ['a function', () => 1, 'is a function'],
    ['no number', { n: NaN }, 'result of it.n is NaN'],
    ['details that are a date', { content: 'x', details: new Date(0) }, 'details of result of it is a Date'],
  ])('is refused where it is no JSON, with the way out: %s', async (_, output, problem) => {
    const { outcome, message } = await resultOf(output)
    expect(outcome).toBe('error')
    expect(message.content[0].content).toEqual([{ type: 'text', text: expect.stringContaining(problem) }])
  })

  it('has types that take JSON and nothing else', () => {
    interface Row { readonly id: number }
    const row: Row = { id: 1 }
    const server: { [key: string]: unknown; content: { type: 'text'; text: string }[]; isError?: boolean | undefined } = { content: [] }
    const tool = (_: Execute): void => undefined
    tool(() => ({ rows: [{ id: 1, name: undefined }] }))
    tool(() => ({ ...row }))
    tool(async () => server satisfies McpResult)
    tool(async () => JSON.parse('{}'))
    tool(async function* () {
      yield { percent: 10 }
      return 'done'
    })
    // @ts-expect-error a date is no JSON
    tool(() => new Date())
    // @ts-expect-error nor inside
    tool(() => ({ at: new Date() }))
    // @ts-expect-error a generator of states is async
    tool(function* () { yield 1 })
    // @ts-expect-error an instance of a class
    tool(() => new Point())
    // @ts-expect-error a map
    tool(async () => new Map())
    // @ts-expect-error a function
    tool(() => () => 'x')
    // @ts-expect-error what is yielded is JSON, too
    tool(async function* () { yield new Date(); return 'x' })
  })
})

describe('details of a result', () => {
  it('stand in the log and are sent to nobody', async () => {
    const made = await withTools({ it: () => ({ content: 'x', details: { path: 'a.ts', size: 3, gone: undefined } }) })
    await made.run('Do it.')
    expect(await resultsOf(made)).toEqual([expect.objectContaining({ outcome: 'done', details: { path: 'a.ts', size: 3 } })])
    expect(JSON.stringify(made.requests[1]!.messages)).not.toContain('a.ts')
    expect(verify(await made.events())).not.toHaveProperty('difference')
  })

  it('are bounded, and say how long they were', async () => {
    const { details } = await resultOf({ content: 'x', details: 'y'.repeat(300) }, { settings: { limits: { toolDetails: 200 } } })
    expect(details).toEqual({ omitted: 'The details had 302 characters; limits.toolDetails keeps 200.' })
  })

  it('go with the outcome that a listener of post-execute gives, as it gives it', async () => {
    const rewrites = (more: object) => ({
      name: 'rewrites', apply: async (ctx: Context) => void ctx.on('tools/post-execute', async (_agent, _turn, _call, outcome, next) => {
        const below = await next()
        return { ...below, outcome: { ...(more as { keep?: true }).keep && outcome, content: 'other' } }
      }),
    })
    const kept = await resultOf({ content: 'x', details: 1, endTurn: true }, { plugins: [rewrites({ keep: true })] })
    expect(kept).toMatchObject({ details: 1, endTurn: true, message: { content: [{ content: [{ text: 'other' }] }] } })
    const replaced = await resultOf({ content: 'x', details: 1, endTurn: true }, { plugins: [rewrites({})] })
    expect(replaced).not.toHaveProperty('details')
    expect(replaced).not.toHaveProperty('endTurn')
  })
})

describe('a result of MCP\'s shape', () => {
  it('that says isError is an error', async () => {
    expect(await resultOf({ content: [{ type: 'text', text: 'No such row.' }], isError: true })).toMatchObject({
      outcome: 'error', message: { content: [{ error: true, content: [{ type: 'text', text: 'No such row.' }] }] },
    })
    expect(await resultOf({ content: [{ type: 'text', text: 'x', annotations: { audience: ['user'] } }], isError: false })).toMatchObject({ outcome: 'done', message: { content: [{ content: [{ type: 'text', text: 'x' }] }] } })
  })

  it('has its images kept as blobs, which the log names', async () => {
    const made = await withTools({ it: () => ({ content: [{ type: 'text', text: 'Look:' }, { type: 'image', data: PNG, mimeType: 'image/png' }] }) })
    await made.run('Do it.')
    const [event] = (await made.events()).filter(({ type }) => type === 'tool/result')
    const [digest] = blobsOf(event!)
    expect((event as SessionEvent<'tool/result'>).data.message.content[0].content).toEqual([{ type: 'text', text: 'Look:' }, { type: 'image', digest, mediaType: 'image/png' }])
    expect(Buffer.from((await made.store.getBlob(made.agent.id, digest!))!).toString('base64')).toBe(PNG)
  })

  it.each<[string, object, unknown[]]>([
    ['audio', { type: 'audio', data: PNG, mimeType: 'audio/wav' }, [{ type: 'file', mediaType: 'audio/wav', digest: expect.any(String) }]],
    ['an image that no provider takes', { type: 'image', data: PNG, mimeType: 'image/svg+xml' }, [{ type: 'file', mediaType: 'image/svg+xml', digest: expect.any(String) }]],
    ['a resource of text', { type: 'resource', resource: { uri: 'file:///a', text: 'hello' } }, [{ type: 'text', text: '[resource · file:///a]\nhello' }]],
    ['a resource of bytes', { type: 'resource', resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: PNG } },
      [{ type: 'text', text: '[resource · file:///a.pdf]' }, { type: 'file', mediaType: 'application/pdf', name: 'file:///a.pdf', digest: expect.any(String) }]],
    ['a link', { type: 'resource_link', uri: 'file:///b', name: 'b', description: 'The b.' }, [{ type: 'text', text: '[resource · b · file:///b · The b.]' }]],
    ['what is no base64', { type: 'image', data: '§§', mimeType: 'image/png' }, [{ type: 'text', text: '[image/png, whose bytes are not base64]' }]],
    ['a kind of another day', { type: 'smell', data: 'x' }, [{ type: 'text', text: '[a part of the kind "smell", which cannot be shown]' }]],
  ])('has each kind of part in words or blocks: %s', async (_, part, content) => {
    expect(await contentOf({ content: [part], isError: false })).toEqual(content)
  })

  it('tells structured content where there is nothing else, and keeps it for programs', async () => {
    expect(await resultOf({ content: [], structuredContent: { rows: 1 } })).toMatchObject({ details: { structuredContent: { rows: 1 } }, message: { content: [{ content: [{ text: '{\n "rows": 1\n}' }] }] } })
    expect(await resultOf({ content: [{ type: 'text', text: 'one row' }], structuredContent: { rows: 1 } })).toMatchObject({ details: { structuredContent: { rows: 1 } }, message: { content: [{ content: [{ text: 'one row' }] }] } })
  })

  it('of very many parts is bounded', async () => {
    const content = await contentOf({ content: Array.from({ length: 1_000 }, () => ({ type: 'text', text: 'x' })), isError: false }) as unknown[]
    expect(content).toHaveLength(201)
    expect(content.at(-1)).toEqual({ type: 'text', text: '[… 800 parts left out …]' })
  })
})

describe('a result that ends the turn', () => {
  it('ends it after the whole batch, with its text as the turn\'s, and nothing more is asked', async () => {
    const made = await withTools({ first: () => ({ content: 'The end.', endTurn: true }), second: async () => 'x' })
    const result = await made.run('Do it.')
    expect(result).toMatchObject({ reason: 'done', text: 'The end.', steps: 1 })
    expect(made.requests).toHaveLength(1)
    expect((await resultsOf(made)).map(({ index, endTurn }) => [index, endTurn]).sort()).toEqual([[0, true], [1, undefined]])
    expect((await made.run('And now?')).text).toBe('seen')
    expect(verify(await made.events())).not.toHaveProperty('difference')
  })

  it('of several, the last in call order is the answer, whichever came first', async () => {
    let open!: () => void
    const gate = new Promise<void>((resolve) => (open = resolve))
    const made = await withTools({
      slow: async () => { await gate; return { content: 'slow', endTurn: true } },
      quick: () => { open(); return { content: 'quick', endTurn: true } },
    })
    expect((await made.run('Do it.')).text).toBe('quick')
  })

  it('is none where it is an error', async () => {
    const made = await withTools({ it: () => ({ content: 'broken', error: true, endTurn: true }) })
    expect(await made.run('Do it.')).toMatchObject({ text: 'seen', steps: 2 })
  })

  it('is an answer like any: a steer that waits is answered first, and agent/turn-stopping may keep the turn alive', async () => {
    let stops = 0
    const watch = {
      name: 'watch', inject: ['agents'], apply: async (ctx: Context) => void ctx.on('agent/turn-stopping', (agent) => {
        if (stops++ === 0) agent.steer('Check it.')
      }),
    }
    const made = await withTools({ it: () => ({ content: 'The end.', endTurn: true }) }, { plugins: [watch] })
    expect(await made.run('Do it.')).toMatchObject({ reason: 'done', text: 'seen', steps: 2 })
    expect(stops).toBe(2)
  })

  it('is checked against what the prompt asked for', async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const made = await withTools({ it: () => ({ content: '{"n":3}', endTurn: true }) })
    expect(await made.agent.prompt('Do it.', { output }).result).toMatchObject({ reason: 'done', output: { n: 3 } })
  })

  it('is ended by a resume too, which asks nothing', async () => {
    const made = await withTools({ it: () => ({ content: 'The end.', endTurn: true }) })
    let parked: Promise<void> | undefined
    made.agent.session.on('event', ({ type }) => { if (type === 'tool/result') parked = made.agent.park() })
    await made.agent.prompt('Do it.').result
    await parked
    const resumed = await made.resume()
    resumed.wake()
    await resumed.idle()
    expect((await made.events()).filter(({ type }) => type === 'turn/end').map(({ data }) => data)).toEqual([expect.objectContaining({ reason: 'done' })])
    expect(made.requests).toHaveLength(1)
  })
})
