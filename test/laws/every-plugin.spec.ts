import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Plugin } from 'cordis'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import briefing from '@headrace/briefing'
import * as agentsMd from '@headrace/plugin-agents-md'
import * as approval from '@headrace/plugin-approval'
import compaction from '@headrace/plugin-compaction'
import * as environment from '@headrace/plugin-environment'
import * as mcp from '@headrace/plugin-mcp'
import * as retry from '@headrace/plugin-retry'
import * as skills from '@headrace/plugin-skills'
import * as subagent from '@headrace/plugin-subagent'
import * as tasks from '@headrace/plugin-tasks'
import * as workspaceTools from '@headrace/plugin-workspace-tools'
import { type Request, callsOf } from '@headrace/message'
import { removeFolder } from '@headrace/testing/folder'
import { type HarnessOptions, expectAppendOnly } from '@headrace/testing'
import { HttpWorld } from '../../plugins/mcp/tests/http-server.ts'
import { app, bytesOf, eventsOf, expectRebuilds, plugin, tool } from './help.ts'

type Loaded = NonNullable<HarnessOptions['plugins']>[number]

const context = [briefing, agentsMd, skills, environment]
const server = new HttpWorld()
server.more = { instructions: 'Echo once.' }
await server.open()
afterAll(() => server.close())
const servers = [mcp, { ask: 'never', firstWait: 60_000, mcpServers: { own: { url: server.url, type: 'http' } } }]
const shipped = [...context, workspaceTools, approval, tasks, subagent, servers, retry, compaction] as unknown as readonly Loaded[]

function project(): string {
  const folder = mkdtempSync(join(tmpdir(), 'headrace-'))
  onTestFinished(() => removeFolder(folder))
  mkdirSync(join(folder, '.agents/skills/count'), { recursive: true })
  writeFileSync(join(folder, 'AGENTS.md'), 'Count twice.\n')
  writeFileSync(join(folder, '.agents/skills/count/SKILL.md'), '---\nname: count\ndescription: How to count.\n---\nOne, two.\n')
  writeFileSync(join(folder, 'a.txt'), 'one\n')
  return folder
}

/** One of each plugin with tools that does not ask. */
const CALLS = [
  { name: 'read', arguments: { path: 'a.txt' } }, { name: 'skill', arguments: { name: 'count' } }, { name: 'own__echo', arguments: {} },
  { name: 'tasks', arguments: { tasks: [{ content: 'Count.', status: 'in_progress' }] } },
  { name: 'background', arguments: {} }, { name: 'subagent', arguments: { prompt: 'Count.', agent: 'nobody' } },
]

/** Names of the tools of each. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  skills: ['skill'], 'workspace-tools': ['background', 'bash', 'edit', 'glob', 'grep', 'list', 'read', 'write'], tasks: ['tasks'], subagent: ['subagent'],
  mcp: ['own__big', 'own__big-stream', 'own__cut', 'own__cut-stream', 'own__echo', 'own__hang', 'own__header'],
}

/** A small job: two turns, a tool, an error that is tried again, a resume, a third turn. */
async function job(cwd: string, plugins: readonly Loaded[]): Promise<readonly Request[]> {
  const made = await app({
    plugins: [...plugins, plugin('own', (ctx) => void ctx.agents.after({ key: 'fresh', content: (_agent, turn, step) => `${turn.number}.${step.number}` }))],
    agent: { cwd },
    script: [{ calls: CALLS }, 'Two.', { error: { kind: 'rate-limit', retryAfter: 1 } }, 'Three.', 'Four.'],
  })
  await made.run('Count.')
  await made.run('Again.')
  await made.resume()
  await made.run('Once more.')
  await expectRebuilds(made)
  expect(made.reports).toEqual([])
  expect(eventsOf(await made.events(), 'turn/end').map(({ data }) => data.reason)).toEqual(['done', 'done', 'done'])
  return made.requests
}

/** Each message of each request is frozen and signed, and each call has its results behind it. */
function expectSigned(requests: readonly Request[]): void {
  for (const { messages, owners } of requests) {
    expect(Object.isFrozen(messages)).toBe(true)
    expect(owners).toHaveLength(messages.length)
    for (const owner of owners) expect(owner).toMatch(/^(user|model|tool|app|loop|[^/]+\/.+)$/)
    for (const [index, message] of messages.entries()) expect(messages.slice(index + 1, index + 1 + callsOf(message).length).every(({ role }) => role === 'tool')).toBe(true)
  }
}

describe('The laws hold with every shipped plugin loaded, in any load order', () => {
  it('the same bytes; each request rebuilds, extends the one before, is frozen and signed to its last message', async () => {
    const cwd = project()
    const seen = new Set<string>()
    for (const order of [shipped, shipped.toReversed(), [...shipped.slice(3), ...shipped.slice(0, 3)]]) {
      const requests = await job(cwd, order)
      expect(requests).toHaveLength(5)
      expectAppendOnly(requests)
      expectSigned(requests)
      for (const { segments } of requests) expect(segments.after).toBe(1)
      expect(JSON.stringify(requests[0]!.messages)).toContain('Count twice.')
      for (const { name } of CALLS) expect(requests[0]!.tools!.map((tool) => tool.name)).toContain(name)
      for (const said of ['Echo once.', 'How to count.']) expect(JSON.stringify(requests[0]!.messages)).toContain(said)
      seen.add(JSON.stringify(requests.map(bytesOf)))
    }
    expect(seen.size).toBe(1)
  })

  it('each leaves in the middle of a turn and comes back: its tools go and return, and nothing is reported', async () => {
    let leave = async (): Promise<void> => undefined
    const made = await app({
      plugins: [...shipped, plugin('own', (ctx) => void tool(ctx, 'leave', async () => (await leave(), 'gone')))],
      agent: { cwd: project() },
      script: (_, index) => (index % 2 === 0 ? { calls: [{ name: 'leave' }] } : 'Done.'),
    })
    const names = (at: number): readonly string[] => made.requests.at(at)!.tools!.map(({ name }) => name)
    for (const item of shipped.slice(1)) {
      const [part, config] = [item].flat() as [Plugin & { readonly name: string; readonly apply?: unknown }, unknown]
      const runtime = [...made.ctx.registry.values()].find(({ callback }) => callback === part.apply || callback === part)
      leave = async () => void await Promise.all([...runtime!.fibers].map((fiber) => fiber.dispose()))
      expect(await made.run(`Without ${part.name}.`), part.name).toMatchObject({ reason: 'done' })
      const [whole, without] = [names(-2), names(-1)]
      const own = TOOLS[part.name] ?? []
      expect(whole.filter((name) => !without.includes(name)), part.name).toEqual(own)
      await made.ctx.plugin(part, config)
      leave = async () => undefined
      await made.run(`With ${part.name}.`)
      expect(names(-1), part.name).toEqual(whole)
      expect(made.reports, part.name).toEqual([])
    }
    await expectRebuilds(made)
    expectSigned(made.requests)
  })
})
