import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Context } from 'cordis'
import { BriefingService } from '@headrace/briefing'
import { type Request, textOf } from '@headrace/message'
import { Batch, MemoryStore, type SessionEvent, type SessionStore, verify } from '@headrace/session'
import { type Harness, type HarnessOptions, type Reply, harness } from '@headrace/testing'
import { expect, onTestFinished } from 'vitest'
import * as subagent from '../src/index.ts'

/** What a model was asked last, and how often it has called since. */
export interface Asked {
  readonly prompt: string
  /** Answers since. */
  readonly answered: number
  /** True for a subagent's. */
  readonly child: boolean
  readonly request: Request
}

/** One model for all sessions: it answers what it is asked. */
export type Answers = (asked: Asked) => Reply | Promise<Reply>

/** A call of the tool, for a reply. */
export function task(prompt: string | undefined, more: object = {}): { readonly name: string; readonly arguments: object } {
  return { name: 'subagent', arguments: { ...(prompt !== undefined && { prompt }), ...more } }
}

/** An app with the plugin and one agent, in a folder without a home. */
export function setup(
  answers: Answers, options: HarnessOptions = {}, config: Parameters<typeof subagent.Config>[0] = {},
): Promise<Harness> {
  return harness({
    ...options,
    script: (request) => answers(askedIn(request)),
    plugins: [BriefingService, [subagent as never, { user: false, ...config }], ...(options.plugins ?? [])],
  })
}

function askedIn(request: Request): Asked {
  const { messages, owners } = request
  const at = messages.findLastIndex(({ role }) => role === 'user')
  return {
    prompt: textOf(messages[at]!),
    answered: messages.slice(at).filter(({ role }) => role === 'assistant').length,
    child: owners.includes('subagent/instructions'),
    request,
  }
}

/** A plugin with tools by name. */
export function tools(list: Readonly<Record<string, (signal: AbortSignal) => unknown>>): never {
  return {
    name: 'some', inject: ['tools'],
    apply: async (ctx: Context) => {
      for (const [name, act] of Object.entries(list)) {
        ctx.tools.define({ name, description: name, parameters: { type: 'object' }, execute: (_, { signal }) => act(signal) as string })
      }
    },
  } as never
}

/** What the results of a session say, in the order of their calls. */
export async function resultsIn(store: SessionStore, id: string): Promise<readonly Told[]> {
  const results = (await logOf(store, id)).flatMap((event) => (event.type === 'tool/result' ? [event.data] : []))
  return results.sort((a, b) => a.assistant - b.assistant || a.index - b.index).map(({ message: { content: [block] }, outcome }) => (
    { text: textOf(block), error: block.error === true, outcome }
  ))
}

export interface Told {
  readonly text: string
  readonly error: boolean
  readonly outcome: string
}

export async function logOf(store: SessionStore, id: string): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of store.load(id)) events.push(...batch)
  return events
}

/** Ids of the sessions under another, oldest first. */
export async function childrenOf(store: SessionStore, under = 'test'): Promise<readonly string[]> {
  const logs: (readonly [id: string, call: string])[] = []
  for await (const { id, open } of store.list({ under })) logs.push([id, `${String(open!.under!.call.assistant).padStart(9, '0')}.${open!.under!.call.index}`])
  return logs.sort(([, a], [, b]) => (a < b ? -1 : 1)).map(([id]) => id)
}

/** Each log of a store verifies, and nothing is open in it. */
export async function expectSound(store: SessionStore): Promise<void> {
  for await (const { id, state, error } of store.list()) {
    expect([error, state], id).toEqual([undefined, 'idle'])
    expect(verify(await logOf(store, id)).difference, id).toBeUndefined()
  }
}

/** What a kill at this moment leaves: the logs as they are, in another store. */
export async function killed(store: SessionStore): Promise<MemoryStore> {
  const copy = new MemoryStore()
  for await (const { id } of store.list()) {
    const lease = await copy.create(id)
    lease.append(new Batch(await logOf(store, id)))
    await lease.release()
  }
  return copy
}

/** A folder with files, gone when the test is. */
export function folder(files: Readonly<Record<string, string>> = {}): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'subagent-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  mkdirSync(join(base, '.git'))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(base, path)), { recursive: true })
    writeFileSync(join(base, path), text)
  }
  return base
}
