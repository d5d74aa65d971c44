import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from 'cordis'
import { BriefingService } from '@headrace/briefing'
import { growthKit } from '@headrace/testing/growth-kit'
import * as agentsMd from '../src/index.ts'

const prepare = async (folder: string): Promise<void> => {
  await mkdir(join(folder, '.git'))
  await mkdir(join(folder, 'api'))
  await writeFile(join(folder, 'AGENTS.md'), 'Use tabs.\n')
  await writeFile(join(folder, 'api', 'AGENTS.md'), 'Every route has a test.\n')
}
const look = { name: 'look', inject: ['tools'], apply: async (ctx: Context) => void ctx.tools.define({ name: 'look', description: '', parameters: { type: 'object' }, execute: () => 'seen' }) }

// Touches the nested folder in each turn.
growthKit('agents-md', {
  plugin: [agentsMd as never, { global: false }], needs: [BriefingService as never, look as never], prepare,
  script: (_, index) => (index % 2 === 0 ? { calls: [{ name: 'look', arguments: { path: 'api/route.ts' } }] } : 'Done.'),
})
