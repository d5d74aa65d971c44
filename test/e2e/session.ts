import type { Agent, TurnHandle } from '@headrace/agent'
import { NO_USAGE, type Request, type Usage, addUsage } from '@headrace/message'
import { type SessionEvent, rebuild, verify } from '@headrace/session'
import { Context } from 'cordis'
import headrace from 'headrace'
import { deflateSync } from 'node:zlib'
import type { Target } from './providers.ts'
import type { Relay } from './relay.ts'

/** What a session came to. */
export interface Came {
  readonly turns: number
  readonly requests: number
  readonly usage: Usage
  readonly cost: number | undefined
  /** What was hoped for and did not come: a model may call one tool after the other. */
  readonly notes: readonly string[]
}

/** An app with every target, in which nothing but the session's own tools is there. */
async function appOf(targets: readonly Target[], relay: Relay, directory: string, pause: number): Promise<Context> {
  const ctx = new Context()
  const providers = Object.fromEntries(targets.map(({ name, protocol, apiKey }) => {
    return [name, { baseURL: relay.urlOf(name), apiKey, ...(protocol && { protocol }) }]
  }))
  const without = { skills: false, agentsMd: false, environment: false, tools: false, tasks: false } as const
  await ctx.plugin(headrace, { store: { directory, fsync: 'never' }, providers, retry: { base: pause }, ...without })
  await ctx.plugin({ name: 'e2e', inject: ['tools'], apply: async (ctx: Context) => void ctx.tools.define({
    name: 'weather', description: 'The weather of a town today.', parameters: { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] },
    execute: ({ town }: { town: string }) => `It rains in ${town}.`,
  }) })
  return ctx
}

/**
 * Ten turns and more: parallel calls, thinking, an image, a cancel, a cut stream, a limit, an overflow, and each other target in between.
 * Then every body is made again in another app, and must be the one that was sent.
 *
 * @param pause milliseconds before a first retry
 * @throws where a turn does not end as it should, or a body is another
 */
export async function runSession(home: Target, targets: readonly Target[], relay: Relay, directory: string, pause = 1_000): Promise<Came> {
  const app = await appOf(targets, relay, directory, pause)
  const notes: string[] = []
  let [turns, usage, cost] = [0, NO_USAGE, 0 as number | undefined]
  let at = 'the beginning'
  try {
    const agent = await app.agents.create({ model: modelOf(home), config: { reasoningEffort: 'low', maxOutputTokens: 2_000 } })
    const turn = async (what: string, handle: TurnHandle, reason = 'done'): Promise<string> => {
      at = what
      const result = await handle.result
      turns++
      usage = addUsage(usage, result.usage)
      // A turn that was cancelled may not have been billed.
      if (result.usage.input > 0) cost = result.cost === undefined || cost === undefined ? undefined : cost + result.cost
      if (result.reason !== reason) throw new Error(`it ended ${result.reason}: ${result.error?.message ?? 'no reason given'}`)
      return result.text
    }
    const weather = 'Call weather for Oslo and for Rome, both in one answer, then tell me both in a sentence.'
    await turn('parallel calls', agent.prompt(weather))
    if (mostCalls(agent) < 2) notes.push('it called one tool at a time')
    await turn('a cancel while it thinks', cancelled(agent.prompt('Think hard: which primes between 100 and 200 end in 7?')), 'cancelled')
    await turn('an image', agent.prompt([...(home.images ? [await agent.putImage(redSquare(), 'image/png')] : []), 'Which colour do you see? One word.']))
    for (const fault of ['cut', 'rate limit', 'overflow'] as const) {
      relay.fail(fault)
      await turn(fault, agent.prompt(`Say the word ${fault} and nothing else.`))
    }
    for (const other of targets) {
      if (other.name === home.name) continue
      agent.configure({ model: modelOf(other) })
      await turn(`a change to ${other.name}`, agent.prompt(weather))
    }
    agent.configure({ model: modelOf(home) })
    for (const what of ['the change back', 'calls once more', 'the last turn']) await turn(what, agent.prompt(what === 'calls once more' ? weather : 'Say yes.'))
    at = 'the proof'
    const events = [...agent.session.events()]
    const blob: Blob = (digest) => app.sessions.current.getBlob(agent.id, digest)
    const requests = await prove(events, await appOf(targets, relay, `${directory}-again`, pause), blob)
    return { turns, requests, usage, cost, notes }
  } catch (error) {
    throw new Error(`in ${at}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  } finally {
    await app.fiber.dispose()
  }
}

function modelOf({ name, model }: Target): string {
  return `${name}/${model}`
}

/** Cancels at the first sign of life. */
function cancelled(handle: TurnHandle): TurnHandle {
  void (async () => {
    for await (const event of handle) if (event.type === 'reasoning' || event.type === 'text') return handle.cancel()
  })()
  return handle
}

function mostCalls({ session }: Agent): number {
  return Math.max(0, ...session.entries().map(({ message }) => (message.role === 'assistant' ? message.content.filter(({ type }) => type === 'tool-call').length : 0)))
}

type Blob = (digest: string) => Promise<Uint8Array | undefined>

/** Every request rebuilds, and its body is made again. How many there were. */
async function prove(events: readonly SessionEvent[], app: Context, blob: Blob): Promise<number> {
  try {
    const { difference } = verify(events)
    if (difference) throw new Error(`verify finds a difference: ${JSON.stringify(difference)}`)
    let count = 0
    for (const event of events) {
      if (event.type !== 'request/end' || event.data.wire === undefined) continue
      const request = { ...rebuild(events, event.data.dispatch), signal: new AbortController().signal } as Request
      const made = await app.llm.wire(request, blob)
      if (made?.digest !== event.data.wire) throw new Error(`the body of event ${event.data.dispatch} is another when it is made again`)
      count++
    }
    return count
  } finally {
    await app.fiber.dispose()
  }
}

/** A PNG of 32 by 32 red points. */
function redSquare(): Uint8Array {
  const rows = Buffer.concat(Array.from({ length: 32 }, () => Buffer.from([0, ...Array.from({ length: 32 }, () => [220, 0, 0]).flat()])))
  const header = Buffer.from([0, 0, 0, 32, 0, 0, 0, 32, 8, 2, 0, 0, 0])
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

function crc32(bytes: Buffer): number {
  let crc = 0xffff_ffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1
  }
  return (crc ^ 0xffff_ffff) >>> 0
}
