import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Agent } from '@headrace/agent'
import { BriefingService } from '@headrace/briefing'
import * as agentsMd from '@headrace/plugin-agents-md'
import * as environment from '@headrace/plugin-environment'
import * as skills from '@headrace/plugin-skills'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { type App, makeApp } from './app.ts'
import { FOLDER, makeProject } from './cache-project.ts'
import { type Measure, timed } from './measure.ts'

/** Messages of history, and steps of a measured turn. */
const SIZE = 1_000
const STEPS = 50

const PLUGINS = [[BriefingService, {}], [agentsMd, { global: false }], [skills, { user: false }], [environment, {}]] as const

/** What a step costs with every context plugin, where nothing changes, against a step without them; each in a log on disk. */
export async function contextMeasures(folder: string): Promise<readonly Measure[]> {
  const cwd = await makeProject(join(folder, 'project'))
  const measures: Measure[] = []
  for (const [name, fsync] of [['step', 'barrier'], ['unsynced', 'never']] as const) {
    for (const bare of [true, false]) {
      const key = `context-${name}${bare ? '-bare' : ''}`
      const app = await makeApp({
        store: new JsonlStore({ directory: join(folder, key), fsync }),
        bare: true,
        plugins: bare ? [] : PLUGINS,
      })
      const agent = await app.create(key, { cwd })
      await fill(app, agent)
      const title = `a step with store-jsonl${fsync === 'never' ? ", `fsync: 'never'`" : ''}${bare ? '' : ', and every context plugin'}`
      measures.push({ key, title, unit: 'µs', sample: () => oneTurn(app, agent) })
    }
  }
  return [...measures, looksMeasure(join(folder, 'project'))]
}

/** What such a step asks of the file system: a look at each file that is watched, there or not. */
function looksMeasure(root: string): Measure {
  const folders = [root, join(root, 'packages'), join(root, FOLDER)]
  const others = folders.flatMap((at) => ['AGENTS.md', 'AGENTS.local.md'].map((name) => join(at, name)))
  const git = ['HEAD', 'refs/heads/main'].map((name) => join(root, '.git', name))
  const paths = [...others, ...git]
  return {
    key: 'context-looks', title: `the ${paths.length} looks alone that such a step takes at its files`, unit: 'µs',
    async sample() {
      const ms = await timed(() => {
        for (let step = 0; step < STEPS; step++) for (const path of paths) statSync(path, { bigint: true, throwIfNoEntry: false })
      })
      return (ms * 1_000) / STEPS
    },
  }
}

async function fill(app: App, agent: Agent): Promise<void> {
  app.answers.steps = STEPS
  while (agent.session.entries().length < SIZE) await agent.prompt('Go on with the work, please.').result
}

/** Microseconds a step. Afterwards the history is as long as before. */
async function oneTurn(app: App, agent: Agent): Promise<number> {
  app.answers.steps = STEPS
  let steps = 0
  const before = agent.session.entries().length
  const ms = await timed(async () => ({ steps } = await agent.prompt('Go on with the work, please.').result))
  if (steps !== STEPS) throw new Error(`the turn had ${steps} steps, not ${STEPS}`)
  const entries = agent.session.entries()
  agent.replace(entries[before]!.id, entries.at(-1)!.id, ['The work went on.'], { reason: 'to measure again' })
  return (ms * 1_000) / steps
}
