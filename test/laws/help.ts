import type { Context } from 'cordis'
import { expect, onTestFinished } from 'vitest'
import { type Message, type Request, textOf } from '@headrace/message'
import { type EventType, type SessionEvent, rebuild } from '@headrace/session'
import { type Harness, type HarnessOptions, type Reply, harness } from '@headrace/testing'

/** A harness that goes with the test. */
export async function app(options: HarnessOptions = {}): Promise<Harness> {
  const made = await harness(options)
  onTestFinished(() => made.dispose())
  return made
}

/** A plugin with the agent's services. */
export function plugin(
  name: string,
  apply: (ctx: Context) => unknown,
): { name: string; inject: string[]; apply: (ctx: Context) => void | Promise<void> } {
  return {
    name,
    inject: ['sessions', 'llm', 'tools', 'system', 'agents'],
    apply: (ctx) => apply(ctx) as void | Promise<void>,
  }
}

/** A tool without arguments, as a plugin registers it. */
export function tool(ctx: Context, name: string, execute: () => unknown = () => 'fine', description = `The tool ${name}.`): () => void {
  return ctx.tools.define({ name, description, parameters: { type: 'object' }, execute: execute as () => string })
}

/** A reply that calls tools. */
export function calls(...names: readonly string[]): Reply {
  return { calls: names.map((name) => ({ name })) }
}

export function user(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] }
}

export function system(text: string): { role: 'system'; content: [{ type: 'text'; text: string }] } {
  return { role: 'system', content: [{ type: 'text', text }] }
}

/** What the messages of a request, or of a history, say: results of tools as `name: text`. */
export function textsOf(source: Request | readonly Message[]): readonly string[] {
  const messages = 'messages' in source ? source.messages : source
  return messages.map((message) => {
    if (message.role !== 'tool') return textOf(message)
    const [{ name, content }] = message.content
    return `${name}: ${textOf({ content })}`
  })
}

export function eventsOf<T extends EventType>(events: readonly SessionEvent[], ...types: readonly T[]): readonly SessionEvent<T>[] {
  return events.filter((event) => (types as readonly string[]).includes(event.type)) as unknown as readonly SessionEvent<T>[]
}

/** All that a model, an owner or a reader could see of a request. */
export function bytesOf(request: Omit<Request, 'signal'>): string {
  const { session, dispatch, config, system: text, tools, messages, segments, owners } = request
  return JSON.stringify({ session, dispatch, config, system: text, tools, messages, segments, owners })
}

/** Every request that was sent rebuilds, byte for byte, from what the store holds; and the log verifies. */
export async function expectRebuilds({ events, requests, verify }: Harness): Promise<void> {
  const log = await events()
  for (const request of requests) expect(bytesOf(rebuild(log, request.dispatch!))).toBe(bytesOf(request))
  expect(await verify()).not.toHaveProperty('difference')
}

/** Whatever a call throws. */
export function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}
