import { afterAll } from 'vitest'
import { BriefingService } from '@headrace/briefing'
import { growthKit } from '@headrace/testing/growth-kit'
import * as mcp from '../src/index.ts'
import { HttpWorld } from './http-server.ts'

const server = new HttpWorld()
server.tools = [{ name: 'echo' }]
server.more = { instructions: 'Only the allowed folders can be read.', capabilities: { resources: {} } }
await server.open()
afterAll(() => server.close())

// Calls a tool in each turn.
growthKit('mcp', {
  plugin: [mcp as never, { ask: 'never', firstWait: 60_000, mcpServers: { files: { url: server.url, type: 'http' } } }], needs: [BriefingService as never],
  script: (_, index) => (index % 2 === 0 ? { calls: [{ name: 'files__echo', arguments: { text: 'Hi.' } }] } : 'Done.'),
  chapter: { readme: new URL('../README.md', import.meta.url) },
})
