import { BriefingService } from '@headrace/briefing'
import { growthKit } from '@headrace/testing/growth-kit'
import * as mcp from '../src/index.ts'
import { World } from './kit.ts'

const world = new World()
process.on('exit', () => world.remove())

const STATE = { instructions: 'Only the allowed folders can be read.', resources: [], tools: [{ name: 'echo' }] }

// Calls a tool in each turn.
growthKit('mcp', {
  plugin: [mcp as never, { ask: 'never', firstWait: 60_000, mcpServers: { files: world.server('own', STATE) } }], needs: [BriefingService as never],
  script: (_, index) => (index % 2 === 0 ? { calls: [{ name: 'files__echo', arguments: { text: 'Hi.' } }] } : 'Done.'),
  chapter: { readme: new URL('../README.md', import.meta.url) },
})
