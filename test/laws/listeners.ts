import { expect } from 'vitest'
import type { Harness, HarnessOptions } from '@headrace/testing'
import { app, calls, plugin, tool } from './help.ts'

type Next = () => Promise<never>
export type Listener = (...args: unknown[]) => unknown
export const nextOf = (args: readonly unknown[]): Next => args.at(-1) as Next

/** Contributes to everything, and is the one who must not be dropped. */
export const good = plugin('good', (ctx) => {
  tool(ctx, 'look')
  ctx.agents.prefix({ key: 'p', content: () => 'good prefix' })
  ctx.agents.before({ key: 'b', content: () => 'good before' })
  ctx.agents.after({ key: 'a', content: () => 'good after' })
  ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => ({ ...await next(), topP: 0.5, stop: ['END'] }))
  ctx.on('compaction/keep', async (_agent, _entries, next) => [...await next(), { key: 'k', content: 'good keep' }])
  ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next(), additionalContext: ['good context'] }))
})

/** A plugin with one listener, outside all others. */
export function bad(seam: string, listener: Listener): ReturnType<typeof plugin> {
  return plugin('bad', (ctx) => void ctx.on(seam as 'agent/pre-step', listener as never, { prepend: true }))
}

export async function run(seam: string, listener: Listener, { strict = true, script = [calls('look'), 'Done.'], ...more }: { strict?: boolean; script?: HarnessOptions['script'] } & Partial<HarnessOptions> = {}): Promise<{ readonly made: Harness; readonly result: Awaited<ReturnType<Harness['run']>> }> {
  const made = await app({
    script: script!,
    plugins: [good, bad(seam, listener)],
    settings: { strict, seamTimeout: 40, toolTimeout: 40, grace: 5 },
    ...more,
  })
  const result = await made.run('Hi.')
  expect(await made.verify()).not.toHaveProperty('difference')
  return { made, result }
}

export const CULPRIT = (seam: string): object => ({ plugin: 'bad', seam })
