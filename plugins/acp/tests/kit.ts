import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { PassThrough, Readable, Writable } from 'node:stream'
import * as agentPlugin from '@headrace/agent'
import * as desk from '@headrace/desk'
import { MemoryStore, type SessionEvent, type SessionStore, verify } from '@headrace/session'
import { type Script, scriptedAdapter } from '@headrace/testing'
import * as older from 'acp-sdk-0.28'
import * as old from 'acp-sdk-1.9'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Context, type Plugin } from 'cordis'
import { expect, onTestFinished } from 'vitest'
import { onWire, openWire } from '../src/index.ts'

/** Clients as older lines of the SDK have them: their own code, which knows nothing of ours. */
export const SDKS = { '1.9.0': old, '0.28.1': older } as const

type Update = Readonly<Record<string, unknown>> & { readonly sessionUpdate: string }

interface Asked {
  readonly toolCall: Record<string, unknown>
  readonly options: readonly { readonly optionId: string; readonly kind: string }[]
}

export interface AppOptions {
  readonly script?: Script
  readonly store?: SessionStore
  readonly sdk?: keyof typeof SDKS
  /** What the user answers. Default: the first option. */
  readonly answer?: (asked: Asked) => unknown
  /** Called before anything is driven. */
  readonly setup?: (ctx: Context) => void | Promise<void>
  readonly capabilities?: Record<string, unknown>
}

/** An app with the door, and a client at the other end of the line. */
export interface App {
  readonly ctx: Context
  readonly store: SessionStore
  readonly client: old.ClientSideConnection
  /** What the client was told, in its order. */
  readonly updates: readonly Update[]
  /** What it was asked. */
  readonly asked: readonly Record<string, unknown>[]
  /** Every frame that the agent sent. */
  readonly frames: readonly Record<string, unknown>[]
  events(id: string): Promise<readonly SessionEvent[]>
  stop(): Promise<void>
}

export async function app({ script = ['ok'], store = new MemoryStore(), sdk = '1.9.0', answer, setup, capabilities = {} }: AppOptions = {}): Promise<App> {
  const [toAgent, toClient] = [new PassThrough(), new PassThrough()]
  const wire = openWire({ input: toAgent, output: toClient, version: '0.0.0' })
  const updates: Update[] = []
  const asked: Record<string, unknown>[] = []
  const frames: Record<string, unknown>[] = []
  const reader = new PassThrough()
  let rest = ''
  toClient.on('data', (bytes: Buffer) => {
    const lines = (rest + bytes.toString('utf8')).split('\n')
    rest = lines.pop()!
    frames.push(...lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Record<string, unknown>))
    reader.write(bytes)
  })
  const { ClientSideConnection, ndJsonStream, PROTOCOL_VERSION } = SDKS[sdk] as typeof old
  const client = new ClientSideConnection(() => ({
    async sessionUpdate({ update }) {
      updates.push(update as unknown as Update)
    },
    async requestPermission(params) {
      asked.push(params as unknown as Record<string, unknown>)
      return (await answer?.(params as never) ?? { outcome: { outcome: 'selected', optionId: params.options[0]!.optionId } }) as never
    },
  }), ndJsonStream(Writable.toWeb(toAgent), Readable.toWeb(reader) as ReadableStream<Uint8Array>))
  // Answered before there is an app.
  const ready = await client.initialize({ protocolVersion: PROTOCOL_VERSION, clientCapabilities: capabilities })
  expect(ready.protocolVersion).toBe(1)
  const ctx = new Context()
  await ctx.plugin(agentPlugin, { strict: true, quiet: true })
  ctx.sessions.store(store)
  ctx.llm.adapter('scripted', scriptedAdapter(script))
  ctx.agents.default({ model: 'scripted/model' })
  await ctx.plugin(desk, {})
  await setup?.(ctx)
  await ctx.plugin(onWire(wire) as Plugin<object>, { models: ['scripted/other'] })
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => stopped ??= (async () => {
    await ctx.fiber.dispose()
    wire.close()
    for (const frame of frames) checkFrame(frame)
  })()
  onTestFinished(stop)
  return {
    ctx, store, client, updates, asked, frames, stop,
    async events(id) {
      const events: SessionEvent[] = []
      for await (const batch of store.load(id)) events.push(...batch)
      expect(verify(events).difference).toBeUndefined()
      return events
    },
  }
}

const schema = JSON.parse(readFileSync(createRequire(import.meta.url).resolve('@agentclientprotocol/sdk/schema/v1/schema.json'), 'utf8')) as { $defs: Record<string, unknown> }
const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema(schema, 'acp')

const DEFS: Readonly<Record<string, string>> = {
  'session/update': 'SessionNotification', 'session/request_permission': 'RequestPermissionRequest', 'elicitation/create': 'CreateElicitationRequest',
}

/** Holds what the agent sent against the protocol's own schema. */
function checkFrame({ method, params }: Record<string, unknown>): void {
  const def = typeof method === 'string' ? DEFS[method] : undefined
  if (def === undefined) return
  const check = ajv.getSchema(`acp#/$defs/${def}`)!
  expect(check(params), `${JSON.stringify(params)}: ${ajv.errorsText(check.errors)}`).toBe(true)
}

/** What a client shows in the end: texts by message, calls by id. */
export function folded(updates: readonly Update[]): unknown {
  const shown = new Map<string, Record<string, unknown>>()
  for (const { sessionUpdate, ...update } of updates) {
    if (/_chunk$/.test(sessionUpdate)) {
      const key = `${sessionUpdate} ${update['messageId'] as string}`
      const text = (update['content'] as { text?: string }).text ?? ''
      shown.set(key, { type: sessionUpdate, text: `${(shown.get(key)?.['text'] as string | undefined) ?? ''}${text}` })
    } else if (sessionUpdate === 'tool_call' || sessionUpdate === 'tool_call_update') {
      const key = `call ${update['toolCallId'] as string}`
      shown.set(key, { ...shown.get(key), ...update })
    }
  }
  return [...shown]
}
