import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context } from 'cordis'
import { BriefingService } from '@headrace/briefing'
import * as mcp from '@headrace/plugin-mcp'
import { makeApp } from './app.ts'
import { type Measure, timed } from './measure.ts'

// Compiled, this file is one folder further down.
const ROOT = new URL(import.meta.url.endsWith('.ts') ? '../../' : '../../../', import.meta.url)
const SERVER = fileURLToPath(new URL('plugins/mcp/tests/fixtures/server.mjs', ROOT))
/** Steps of a measured turn. */
const STEPS = 50
const SCHEMA = { type: 'object', properties: { path: { type: 'string', description: 'Where it is.' }, line: { type: 'integer' } }, required: ['path'] }

/** Measures, and what ends the servers that they need. */
export interface McpToolMeasures {
  readonly measures: readonly Measure[]
  close(): Promise<void>
}

/** Steps of agents that have so many tools of an MCP server. */
export async function mcpToolMeasures(folder: string, counts: readonly number[]): Promise<McpToolMeasures> {
  const measures: Measure[] = []
  const roots: Context[] = []
  for (const count of counts) {
    const state = join(folder, `${count}`)
    const tools = Array.from({ length: count }, (_, index) => ({ name: `tool-${index}`, description: `Does the thing ${index}. `.repeat(10), inputSchema: SCHEMA }))
    await mkdir(state)
    await writeFile(join(state, 'state.json'), JSON.stringify({ tools }))
    const config = { ask: 'never', firstWait: 60_000, mcpServers: { own: { command: process.execPath, args: [SERVER, state] } } }
    const root = { name: 'root', apply: (ctx: Context): void => void roots.push(ctx.root) }
    const app = await makeApp({ plugins: [[BriefingService, {}], [mcp, config], [root, {}]] })
    const agent = await app.create(`mcp-${count}`)
    Object.assign(app.answers, { steps: STEPS })
    await agent.prompt('Begin.').result
    const told = agent.session.requestHeader()?.tools?.length
    if (told !== count + 3) throw new Error(`there are ${told} tools, not ${count + 3}`)
    const sample = async (): Promise<number> => (await timed(() => agent.prompt('Go on.').result)) * 1_000 / STEPS
    measures.push({ key: `mcp-tools-${count}`, title: `a step with ${count} tools of an MCP server`, unit: 'µs', sample })
  }
  return { measures, close: async () => void await Promise.all(roots.map((root) => root.fiber.dispose())) }
}
