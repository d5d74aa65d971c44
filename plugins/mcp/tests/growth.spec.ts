import { BriefingService } from '@headrace/briefing'
import { growthKit } from '@headrace/testing/growth-kit'
import * as mcp from '../src/index.ts'
import { World } from './kit.ts'

const world = new World()
process.on('exit', () => world.remove())

// Calls a tool in each turn.
growthKit('mcp', {
  plugin: [mcp as never, { ask: 'never', firstWait: 60_000, mcpServers: { own: world.server() } }], needs: [BriefingService as never],
  script: (_, index) => (index % 2 === 0 ? { calls: [{ name: 'own__echo', arguments: { text: 'Hi.' } }] } : 'Done.'),
})
