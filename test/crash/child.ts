import { openSync } from 'node:fs'
import { Context } from 'cordis'
import * as agentPlugin from '@headrace/agent'
import * as models from '@headrace/plugin-models'
import { messageOf } from '@headrace/message'
import { Killer, kill } from './killer.ts'
import type { Point } from './point.ts'
import { kindOf } from './store.ts'
import { SideFile, watched } from './watched.ts'
import { drive, work } from './work.ts'

// A process of its own on the built libraries: begins one session and does its work, or resumes sessions and finishes theirs.

/** What a child is told, as JSON in its first argument. */
export interface Orders {
  readonly store: string
  readonly folder: string
  readonly url: string
  readonly mode: 'begin' | 'resume'
  readonly sessions: readonly { readonly id: string; readonly side: string }[]
  readonly point?: Point
}

/** Does the work of one session in an app of its own, as a process of its own would. */
async function run({ store: name, folder, url, mode, point }: Orders, id: string, side: SideFile): Promise<void> {
  const killer = new Killer(point)
  const kind = kindOf(name)
  const ctx = new Context()
  await ctx.plugin(agentPlugin, { strict: true, grace: 50 })
  const store = kind.open(folder, { isTorn: () => killer.isTorn(killer.count('write')), tear: kill })
  ctx.sessions.store(watched(store, killer, side))
  await ctx.plugin(models, { presets: false, providers: { crash: { baseURL: url } } })
  await ctx.plugin(work(killer, side))
  const start = performance.now()
  if (mode === 'begin') {
    const agent = await ctx.agents.create({ id, model: `crash/${id}` })
    side.say({ what: 'created' })
    // Its parent counts the time from here.
    process.stdout.write('created\n')
    await drive(agent, side, store)
  } else {
    const agent = await ctx.agents.resume(id)
    process.stdout.write('created\n')
    agent.wake()
    await agent.idle()
    side.say({ what: 'resumed' })
  }
  await ctx.fiber.dispose()
  await store.close?.()
  side.say({ what: 'course', course: killer.course, time: performance.now() - start })
}

const orders = JSON.parse(process.argv[2]!) as Orders
for (const { id, side } of orders.sessions) {
  const file = new SideFile(openSync(side, 'a'))
  try {
    await run(orders, id, file)
  } catch (error) {
    file.say({ what: 'failed', message: messageOf(error) })
  }
}
