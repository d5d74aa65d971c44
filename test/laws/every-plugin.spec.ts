import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Plugin } from 'cordis'
import { describe, expect, it, onTestFinished } from 'vitest'
import briefing from '@headrace/briefing'
import * as agentsMd from '@headrace/plugin-agents-md'
import * as approval from '@headrace/plugin-approval'
import compaction from '@headrace/plugin-compaction'
import * as environment from '@headrace/plugin-environment'
import * as retry from '@headrace/plugin-retry'
import * as skills from '@headrace/plugin-skills'
import * as subagent from '@headrace/plugin-subagent'
import * as tasks from '@headrace/plugin-tasks'
import * as workspaceTools from '@headrace/plugin-workspace-tools'
import { type Request, callsOf } from '@headrace/message'
import { removeFolder } from '@headrace/testing/folder'
import { expectAppendOnly } from '@headrace/testing'
import { app, bytesOf, eventsOf, expectRebuilds, plugin } from './help.ts'

const context = [briefing, agentsMd, skills, environment]
const shipped = [...context, workspaceTools, approval, tasks, subagent, retry, compaction] as unknown as readonly Plugin[]

function project(): string {
  const folder = mkdtempSync(join(tmpdir(), 'headrace-'))
  onTestFinished(() => removeFolder(folder))
  mkdirSync(join(folder, '.agents/skills/count'), { recursive: true })
  writeFileSync(join(folder, 'AGENTS.md'), 'Count twice.\n')
  writeFileSync(join(folder, '.agents/skills/count/SKILL.md'), '---\nname: count\ndescription: How to count.\n---\nOne, two.\n')
  writeFileSync(join(folder, 'a.txt'), 'one\n')
  return folder
}

/** A small job: two turns, a tool, an error that is tried again, a resume, a third turn. */
async function job(cwd: string, plugins: readonly Plugin[]): Promise<readonly Request[]> {
  const made = await app({
    plugins: [...plugins, plugin('own', (ctx) => void ctx.agents.after({ key: 'fresh', content: (_agent, turn, step) => `${turn.number}.${step.number}` })) as Plugin],
    agent: { cwd },
    script: [{ calls: [{ name: 'read', arguments: { path: 'a.txt' } }] }, 'Two.', { error: { kind: 'rate-limit', retryAfter: 1 } }, 'Three.', 'Four.'],
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

describe('The laws hold with every shipped plugin loaded, in any load order', () => {
  it('the same bytes; each request rebuilds, extends the one before, is frozen and signed to its last message', async () => {
    const cwd = project()
    const seen = new Set<string>()
    for (const order of [shipped, shipped.toReversed(), [...shipped.slice(3), ...shipped.slice(0, 3)]]) {
      const requests = await job(cwd, order)
      expect(requests).toHaveLength(5)
      expectAppendOnly(requests)
      for (const { messages, owners, segments } of requests) {
        expect(Object.isFrozen(messages)).toBe(true)
        expect(owners).toHaveLength(messages.length)
        for (const owner of owners) expect(owner).toMatch(/^(user|model|tool|app|loop|[^/]+\/.+)$/)
        for (const [index, message] of messages.entries()) expect(messages.slice(index + 1, index + 1 + callsOf(message).length).every(({ role }) => role === 'tool')).toBe(true)
        expect(segments.after).toBe(1)
      }
      expect(JSON.stringify(requests[0]!.messages)).toContain('Count twice.')
      seen.add(JSON.stringify(requests.map(bytesOf)))
    }
    expect(seen.size).toBe(1)
  })
})
