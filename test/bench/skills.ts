import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { BriefingService } from '@headrace/briefing'
import * as skills from '@headrace/plugin-skills'
import { makeApp } from './app.ts'
import { makeProject } from './cache-project.ts'
import { type Measure, collect } from './measure.ts'

const SKILLS = 2_000

/** For how long 2,000 skills hold up everything else: when they are read, and when they are looked at again. */
export async function skillMeasures(folder: string): Promise<readonly Measure[]> {
  const cwd = await makeProject(join(folder, 'skills'), SKILLS)
  let session = 0
  const sample = async (turns: number): Promise<number> => {
    // Each reads them anew: what was read is the app's.
    const app = await makeApp({ bare: true, plugins: [[BriefingService, {}], [skills, { user: false }]] })
    const agent = await app.create(`skills-${++session}`, { cwd })
    for (let turn = 1; turn < turns; turn++) await agent.prompt('Go on.').result
    await collect()
    const longest = await longestTurn(() => agent.prompt('Go on.').result)
    await agent.dispose()
    return longest
  }
  const title = `the longest turn of the event loop, ${SKILLS.toLocaleString('en')} skills`
  return [
    { key: 'skills-first', title: `${title}, as they are read`, unit: 'ms', sample: () => sample(1) },
    { key: 'skills-next', title: `${title}, as they are looked at again`, unit: 'ms', sample: () => sample(2) },
  ]
}

async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let [longest, isDone] = [0, false]
  const working = work().finally(() => (isDone = true))
  while (!isDone) {
    const start = performance.now()
    await setImmediate()
    longest = Math.max(longest, performance.now() - start)
  }
  await working
  return longest
}
