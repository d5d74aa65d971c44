interface Snippets {
  readonly bad: readonly string[]
  readonly good: readonly string[]
}

/** What each rule reports, and the nearest thing that it must not. */
export const snippets: Readonly<Record<string, Snippets>> = {
  'constructed-plugin': {
    bad: [
      `export const name = 'a'; export function apply(ctx: Context) {}`,
      `export default function (ctx: Context) {}`,
      `export default function clock(context: Context, config: Config) {}`,
      `export const name = 'a'; export const apply = function (ctx: Context) {}`,
      `export default { name: 'a', apply: function (ctx: Context) {} }`,
      `await ctx.plugin(function (ctx) { return () => stop() })`,
      `ctx.inject(['late'], function (inner) { return () => stop() })`,
    ],
    good: [
      `export const name = 'a'; export async function apply(ctx: Context) {}`,
      `export const name = 'a'; export function* apply(ctx: Context) { yield () => stop() }`,
      `export default async function (ctx: Context) {}`,
      `export default function defaults(config: Config) {}`,
      `export default { name: 'a', apply(ctx: Context) {} }`,
      `await ctx.plugin((ctx) => () => stop())`,
      `ctx.inject(['late'], (inner) => () => stop())`,
    ],
  },
  'unawaited-plugin': {
    bad: [`ctx.plugin(clock)`, `void ctx.plugin(clock)`],
    good: [`await ctx.plugin(clock)`, `const fiber = ctx.plugin(clock)`],
  },
  'raw-seam': {
    bad: [
      `await ctx.waterfall('agent/request', agent, turn, step, config, async () => config)`,
      `await ctx.parallel('session/event', agent, event)`,
      `await this.ctx.events.serial('tools/ask', call)`,
      `ctx.bail('llm/stream', request)`,
    ],
    good: [
      `ctx.on('agent/request', async (agent, turn, step, config, next) => next())`,
      `await ctx.parallel('clock/tick', now)`,
      `live.emit('event', event)`,
    ],
  },
  'bare-emit': {
    bad: [`ctx.emit('clock/tick', now)`],
    good: [`await ctx.parallel('clock/tick', now)`, `stream.emit('delta', text)`],
  },
  'waterfall-without-inner': {
    bad: [`await ctx.waterfall('greet/before', { text })`, `await ctx.waterfall('greet/before')`, `await ctx.waterfall('greet/before', [draft])`],
    good: [`await ctx.waterfall('greet/before', draft, async () => draft.text)`, `await ctx.waterfall('greet/before', draft, inner)`],
  },
  'nameless-event': {
    bad: [`ctx.emit({ text })`, `await ctx.parallel({ text })`],
    good: [`await ctx.parallel(agent, 'clock/tick')`, `await ctx.parallel('clock/tick', { now })`],
  },
  'next-in-loop': {
    bad: [
      `ctx.on('tools/execute', async (agent, turn, call, next) => { for (let n = 0; n < 3; n++) { try { return await next() } catch {} } })`,
      `ctx.on('tools/execute', async function (agent, turn, call, next) { while (true) await next() })`,
    ],
    good: [
      `ctx.on('tools/execute', async (agent, turn, call, next) => { for (const rule of rules) rule(call); return next() })`,
      `for (;;) { const { done } = await iterator.next(); if (done) break }`,
    ],
  },
  'next-with-arguments': {
    bad: [`ctx.on('agent/request', async (agent, turn, step, config, next) => next({ ...config, temperature: 0 }))`],
    good: [
      `ctx.on('agent/request', async (agent, turn, step, config, next) => ({ ...await next(), temperature: 0 }))`,
      `const following = (next: (value: number) => number) => [1, 2].map((value) => value)`,
    ],
  },
  'service-private-field': {
    bad: [
      `export class Clock extends Service { #now = 0 }`,
      `export class Clock extends Service { #tick() {} }`,
      `export default class extends Service { #now = 0 }`,
    ],
    good: [`export class Clock extends Service { private now = 0 }`, `export class Registry { #entries = new Map() }`],
  },
  'old-inject': {
    bad: [
      `export const inject = { required: ['agents'], optional: ['briefing'] }`,
      `export class Clock extends Service { static inject = { optional: ['briefing'] } }`,
      `export default { name: 'a', inject: { required: ['agents'] }, apply: async () => {} }`,
    ],
    good: [`export const inject = ['agents']`, `export const inject = { agents: { scope: 'own' } }`],
  },
  'async-provide': {
    bad: [`await ctx.effect(async function* () { yield () => db.close(); yield ctx.provide('db', db) })`],
    good: [`ctx.effect(function* () { yield () => db.close(); yield ctx.provide('db', db) })`],
  },
  'effect-in-cleanup': {
    bad: [
      `ctx.effect(function* () { yield () => { ctx.on('clock/tick', tick) } })`,
      `export const name = 'a'; export async function apply(ctx: Context) { return () => ctx.effect(() => stop) }`,
    ],
    good: [
      `ctx.effect(function* () { yield ctx.on('clock/tick', tick) })`,
      `export const name = 'a'; export async function apply(ctx: Context) { const stop = ctx.on('clock/tick', tick); return () => stop() }`,
    ],
  },
  'self-disposal': {
    bad: [
      `export const name = 'a'; export async function apply(ctx: Context) { await ctx.fiber.dispose() }`,
      `export const name = 'a'; export async function apply(ctx: Context) { await ctx.fiber.await() }`,
    ],
    good: [`const app = async () => { await ctx.fiber.dispose() }`],
  },
  'nameless-plugin': {
    bad: [`export const inject = ['agents']; export async function apply(ctx: Context) {}`],
    good: [`export const name = 'clock'; export async function apply(ctx: Context) {}`, `export { apply, inject, name } from './plugin.ts'`],
  },
  'instanceof-context': {
    bad: [`if (value instanceof Context) stop()`],
    good: [`if (Context.is(value)) stop()`, `if (value instanceof RunContext) stop()`],
  },
  'schema-from-json': {
    bad: [`const schema = new z(JSON.parse(text))`],
    good: [`const schema = z.object({ path: z.string() })`],
  },
  'newer-node': {
    bad: [
      `const { promise, resolve } = Promise.withResolvers<void>()`,
      `await Promise.try(read)`,
      `const all = await Array.fromAsync(chunks)`,
      `Object.groupBy(calls, ({ name }) => name)`,
      `RegExp.escape(text)`,
      `import { DatabaseSync } from 'node:sqlite'`,
    ],
    good: [`const promise = new Promise<void>((resolve) => resolve())`, `const all = Array.from(chunks)`, `import { open } from 'node:fs/promises'`],
  },
  'default-eventemitter3': {
    bad: [`import EventEmitter from 'eventemitter3'`],
    good: [`import { EventEmitter } from 'eventemitter3'`],
  },
  'relative-extension': {
    bad: [
      `import { a } from './a'`,
      `import { a } from '../a.js'`,
      `export { a } from './a.js'`,
      `export * from './a'`,
      `const a = await import('./a.js')`,
    ],
    good: [
      `import { a } from './a.ts'`,
      `import text from '../a.json' with { type: 'json' }`,
      `export { a }`,
      `import { Ajv2020 } from 'ajv/dist/2020.js'`,
      `import rules from '../rules.mjs'`,
      `const a = await import(name)`,
    ],
  },
  'every-test-runs': {
    bad: [
      `it.skip('a', () => {})`,
      `describe.only('a', () => {})`,
      `test.todo('a')`,
      `it.skip.each([1])('a', () => {})`,
      `it.concurrent.only('a', () => {})`,
      `it.skipIf(process.platform === 'win32')('a', () => {})`,
      `it('a', { skip: true }, () => {})`,
      `xit('a', () => {})`,
      `it('a', (context) => { context.skip() })`,
    ],
    good: [`it('a', () => {})`, `it.each([1])('a', () => {})`, `reader.skip(4)`, `it('a', { timeout: 60_000 }, () => {})`],
  },
  'no-sleep': {
    bad: [
      `await new Promise((resolve) => setTimeout(resolve, 5))`,
      `setTimeout(() => controller.abort(), 20)`,
      `await sleep(20)`,
      `await delay(20)`,
      `globalThis.setTimeout(open, 20)`,
      `import { setTimeout as pause } from 'node:timers/promises'`,
      `await vi.waitFor(() => expect(a).toBe(1))`,
    ],
    good: [`await gate().promise`, `await until(() => a === 1)`, `await turns()`, `await clock.pass(20)`, `await expect.poll(() => a).toBe(1)`, `import { setImmediate } from 'node:timers/promises'`],
  },
  'no-clock': {
    bad: [
      `const start = performance.now()`,
      `expect(Date.now() - start).toBeLessThan(1_000)`,
      `expect(took).toBeLessThan(Date.now())`,
      `if (Date.now() > end) throw new Error('late')`,
      `const used = process.cpuUsage()`,
    ],
    good: [`const event = { time: Date.now() }`, `vi.spyOn(Date, 'now').mockReturnValue(1)`, `expect(list.length).toBeLessThan(3)`],
  },
  'no-short-timeout': {
    bad: [
      `it('a', async () => {}, 5_000)`,
      `it('a', { timeout: 5_000 }, async () => {})`,
      `it.each([1])('a', async () => {}, 5_000)`,
      `vi.setConfig({ testTimeout: 30_000 })`,
      `await expect.poll(() => a, { timeout: 5_000 }).toBe(1)`,
    ],
    good: [`it('a', async () => {}, 60_000)`, `it('a', { timeout: 60_000 }, async () => {})`, `vi.setConfig({ testTimeout: 60_000 })`, `it.each([1, 2])('a', () => {})`],
  },
}
