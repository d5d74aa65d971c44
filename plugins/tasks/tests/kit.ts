import type { Context } from 'cordis'
import { BriefingService } from '@headrace/briefing'
import { textOf } from '@headrace/message'
import { type Harness, type HarnessOptions, type Reply, harness } from '@headrace/testing'
import * as tasks from '../src/index.ts'

/** A call that sets a list: a word for each task, with its mark in front, e.g. `x read`, `> write`, `  run`. */
export function set(...lines: readonly string[]): Reply {
  const list = lines.map((line) => ({ content: line.slice(2), status: line.startsWith('x') ? 'completed' : line.startsWith('>') ? 'in_progress' : 'pending' }))
  return { calls: [{ name: 'tasks', arguments: { tasks: list } }] }
}

/** An app with the plugin and one agent. */
export function setup(script: readonly Reply[], options: HarnessOptions = {}, config: Partial<tasks.Config> = {}): Promise<Harness> {
  return harness({ ...options, script, plugins: [BriefingService, [tasks as never, config], ...options.plugins ?? []] })
}

/** What the topic announced, beside the results. */
export function announced(h: Harness): readonly string[] {
  return h.agent.session.entries().filter(({ owner }) => owner === 'tasks/list').map(({ message }) => textOf(message))
}

/** The last result of a call, as the model read it. */
export function result(h: Harness): { readonly text: string; readonly error: boolean } {
  const message = h.agent.session.entries().findLast(({ message: { role } }) => role === 'tool')?.message
  const [block] = message?.role === 'tool' ? message.content : []
  return { text: textOf({ content: block?.content ?? [] }), error: block?.error === true }
}

/** Puts a line in the place of everything that is there, ahead of the next step, as compaction does. */
export function compactor(): { name: string; inject: string[]; apply(ctx: Context): Promise<void>; now: boolean } {
  const plugin = {
    name: 'compactor', inject: ['agents'], now: false,
    apply: async (ctx: Context) => {
      ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
        if (plugin.now) {
          plugin.now = false
          const entries = agent.session.entries()
          agent.replace(entries[0]!.id, entries.at(-1)!.id, ['What came before, in short.'], { reason: 'test' })
        }
        return next()
      })
    },
  }
  return plugin
}
