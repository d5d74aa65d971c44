import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, type UIMessage, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import type { Request as ModelRequest } from '@headrace/message'
import { MemoryStore, type SessionEvent, verify } from '@headrace/session'
import type { Reply } from '@headrace/testing'
import { until } from '@headrace/testing/gate'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { amount, seed } from '../../../test/scale.ts'
import { type App, Stream, TOKEN, app, toldEvents } from './kit.ts'
import { Proxy } from './proxy.ts'

const headers = { authorization: `Bearer ${TOKEN}` }
const ID = 'a-chat'

/** A model that is a function of the conversation, so that whoever goes on with a session has the same answers. */
function reply({ messages }: ModelRequest): Reply {
  const isResult = messages.at(-1)!.role === 'tool'
  return isResult ? { text: 'It said: all is well.', pieces: 4 } : { reasoning: 'I look.', text: 'Looking.', calls: [{ name: 'look', arguments: { at: 'tide' }, id: 'call' }], pieces: 3 }
}

/** A server with its sessions, which can be started again, behind a proxy that pulls the plug after so many bytes. */
class Bench {
  ran: string[] = []
  id = ID
  readonly store = new MemoryStore()
  proxy!: Proxy
  private one!: App
  private readonly ask: boolean

  private constructor(ask: boolean) {
    this.ask = ask
  }

  static async start(ask: boolean, cutAt?: number, side?: 'server' | 'client'): Promise<Bench> {
    const bench = new Bench(ask)
    const url = await bench.serve()
    bench.proxy = await Proxy.to(url, cutAt, side)
    return bench
  }

  /** Goes down, and comes again with the same sessions. */
  async restart(): Promise<void> {
    await this.one.stop()
    this.proxy.target = await this.serve()
  }

  events(): Promise<readonly SessionEvent[]> {
    return this.one.events(this.id)
  }

  private async serve(): Promise<string> {
    const setup = (ctx: Context): void => void ctx.tools.define({
      name: 'look', description: 'looks', parameters: { type: 'object', properties: { at: { type: 'string' } } }, ...(this.ask && { ask: () => 'May I look?' }),
      execute: ({ at }: { at: string }) => {
        this.ran.push(at)
        return 'all is well'
      },
    } as never)
    this.one = await app({ store: this.store, script: (request) => reply(request), setup })
    return (await this.one.listen()).url
  }
}

/** What the log must hold, however often the plug was pulled. */
async function expectOnce(bench: Bench, asks: number): Promise<void> {
  const events = await bench.events()
  const count = (type: string): number => events.filter((event) => event.type === type).length
  expect({ prompts: count('prompt/queued'), turns: count('turn/start'), ends: count('turn/end'), asked: count('question/asked'), answered: count('question/answered'), ran: bench.ran })
    .toEqual({ prompts: 1, turns: 1, ends: 1, asked: asks, answered: asks, ran: ['tide'] })
  expect(verify(events)).not.toHaveProperty('difference')
}

/** A person with a page: prompts, says yes when asked, and sends again what was cut off. */
async function talk(bench: Bench): Promise<readonly UIMessage[]> {
  const chat = new Chat<UIMessage>({
    id: ID,
    transport: new DefaultChatTransport({ api: `${bench.proxy.url}/chat`, headers }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  await chat.sendMessage({ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'How is it?' }] } as never)
  for (let round = 0; round < 50; round++) {
    await until(() => chat.status === 'ready' || chat.status === 'error')
    const asked = chat.messages.at(-1)!.parts.find((part) => part.type === 'dynamic-tool')
    if (chat.status === 'ready' && chat.messages.at(-1)!.parts.at(-1)?.type === 'text') return chat.messages
    if (chat.status === 'ready' && asked?.state === 'approval-requested') {
      await chat.addToolApprovalResponse({ id: asked.approval.id, approved: true })
      continue
    }
    chat.messages = chat.messages.slice(0, 1)
    await chat.sendMessage()
  }
  throw new Error(`it came to no end: ${chat.status}, ${JSON.stringify(chat.messages)}`)
}

/** Without what only a client writes into them. */
const plain = (messages: readonly UIMessage[]): unknown => JSON.parse(JSON.stringify(messages, (key, value: unknown) => (key === 'approval' ? (value as { id: string }).id : value)))

/** The bytes of a run that was not cut: each with HEADRACE_LONG=1, in `npm test` a few, else some hundreds, others in each run. */
async function bytesOf(run: (bench: Bench) => Promise<unknown>, ask: boolean, side: 'server' | 'client'): Promise<readonly number[]> {
  const bench = await Bench.start(ask)
  await run(bench)
  const length = side === 'server' ? bench.proxy.passed : bench.proxy.sent
  const step = Math.max(1, Math.floor(length / amount(12, 150, Infinity)))
  const first = seed % step
  return Array.from({ length: Math.ceil((length - first) / step) }, (_, index) => first + index * step)
}

describe('a chat of the AI SDK, cut off after each byte', () => {
  it.each(['server', 'client'] as const)('of the %s ends with the same messages; the prompt, the answer and the call are there once', async (side) => {
    let whole: unknown
    const bytes = await bytesOf(async (bench) => { whole = plain(await talk(bench)) }, true, side)
    for (const at of bytes) {
      const bench = await Bench.start(true, at, side)
      expect([at, plain(await talk(bench))]).toEqual([at, whole])
      await expectOnce(bench, 1)
    }
  })

  it('with the server started again meanwhile, too', async () => {
    let whole: unknown
    const bytes = await bytesOf(async (bench) => { whole = plain(await talk(bench)) }, false, 'server')
    for (const at of bytes) {
      const bench = await Bench.start(false, at)
      let restarted: Promise<void> | undefined
      bench.proxy.onCut = () => { restarted = bench.restart() }
      expect([at, plain(await talk(bench))]).toEqual([at, whole])
      await restarted
      await expectOnce(bench, 0)
    }
  })
})

/** A reader as `EventSource` is one: it goes on behind the last id that it had, and forgets what came without. */
async function follow(bench: Bench): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = []
  let last = ''
  for (;;) {
    const response = await fetch(`${bench.proxy.url}/sessions/${bench.id}/events`, { headers: { ...headers, ...(last !== '' && { 'last-event-id': last }) } }).catch(() => undefined)
    if (!response?.ok) {
      await response?.body?.cancel().catch(() => undefined)
      continue
    }
    const stream = new Stream(response)
    try {
      await stream.until((message) => {
        if (message.event === 'reset') events.length = 0
        if (message.id !== undefined) last = message.id
        events.push(...toldEvents([message]))
        return events.some(({ type }) => type === 'turn/end')
      })
      await stream.leave()
      return events
    } catch {
      // Cut off: it goes on.
    }
  }
}

/** A program: prompts with a key until it is heard, and follows. */
async function drive(bench: Bench): Promise<readonly SessionEvent[]> {
  const post = async (path: string, body: object | undefined, key: string): Promise<unknown> => {
    for (;;) {
      try {
        const response = await fetch(`${bench.proxy.url}${path}`, { method: 'POST', headers: { ...headers, 'idempotency-key': key, 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) })
        const text = await response.text()
        if (response.ok) return JSON.parse(text)
        if (response.status !== 503) throw new TypeError(text)
      } catch (error) {
        if (!(error instanceof TypeError) || error.message.startsWith('{')) throw error
      }
    }
  }
  const { id } = await post('/sessions', {}, 'key-0') as { id: string }
  bench.id = id
  await post(`/sessions/${id}/prompt`, { prompt: 'How is it?' }, 'key-1')
  return follow(bench)
}

describe('a program on the native API, cut off after each byte', () => {
  it.each(['server', 'client'] as const)('of the %s has each event once, and the prompt is there once', async (side) => {
    for (const at of await bytesOf(drive, false, side)) {
      const bench = await Bench.start(false, at, side)
      const events = await drive(bench)
      expect([at, events]).toEqual([at, (await bench.events()).slice(0, events.length)])
      await expectOnce(bench, 0)
    }
  })

  it('with the server started again meanwhile, too', async () => {
    for (const at of await bytesOf(drive, false, 'server')) {
      const bench = await Bench.start(false, at)
      let restarted: Promise<void> | undefined
      bench.proxy.onCut = () => { restarted = bench.restart() }
      const events = await drive(bench)
      await restarted
      expect([at, events]).toEqual([at, (await bench.events()).slice(0, events.length)])
      await expectOnce(bench, 0)
    }
  })
})
