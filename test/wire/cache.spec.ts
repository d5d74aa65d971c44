import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  BlockCache, BreakpointCache, type ModelServer, type Prompt, type PromptCache, UnitCache, createModelServer, lastUser, sentPrompt,
  toolResults,
} from '@headrace/model-server'
import { removeFolder } from '@headrace/testing/folder'
import { Context } from 'cordis'
import headrace from 'headrace'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

let root: string
let server: ModelServer
let app: Context

/** The rules of each provider's cache, on what was sent. */
const CACHES: Readonly<Record<string, () => PromptCache>> = {
  'claude-sonnet-4-5': () => new BreakpointCache({ minimum: 1_024 }),
  'gpt-5': () => new BlockCache(128, 1_024),
  'deepseek-flash': () => new UnitCache(),
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'headrace-cache-'))
  writeFileSync(join(root, 'a.txt'), 'A line that says nothing of note.\n'.repeat(60))
  const read = { name: 'read', arguments: { path: 'a.txt' } }
  server = await createModelServer((body) => {
    const results = toolResults(body, { prompt: /./ }).length
    const many = lastUser(body) === 'many' ? 30 : 2
    return results < many ? { text: 'I look.', toolCalls: Array.from({ length: many === 30 ? 30 : 1 }, () => read) } : 'It says nothing of note.'
  }, { cache: (model) => CACHES[model]!() })
  app = new Context()
  const providers = { openai: { baseURL: server.url, protocol: 'openai-responses' as const }, anthropic: { baseURL: server.url }, deepseek: { baseURL: server.url } }
  await app.plugin(headrace, { store: { directory: join(root, 'logs'), fsync: 'never' }, providers, retry: { base: 1 }, skills: false, agentsMd: false })
})

afterEach(async () => {
  await app.fiber.dispose()
  await server.close()
  removeFolder(root)
})

/** Tokens that no earlier request began with: what must be paid at full price, whatever the cache. */
function least(prompts: readonly Prompt[]): number {
  return prompts.reduce((sum, { tokens }, index) => {
    const common = Math.max(0, ...prompts.slice(0, index).map((earlier) => {
      const at = tokens.findIndex((token, place) => token !== earlier.tokens[place])
      return at < 0 ? tokens.length : at
    }))
    return sum + tokens.length - common
  }, 0)
}

describe('a provider’s cache, by its own rules, on the bodies that were sent', () => {
  // docs/models.md quotes these.
  const bounds = [['anthropic/claude-sonnet-4-5', 1.05], ['openai/gpt-5', 1.1], ['deepseek/deepseek-flash', 1.05]] as const
  it.each(bounds)('%s: at most %d times of what must be paid', async (model, most) => {
    const agent = await app.agents.create({ cwd: root, model })
    for (const prompt of ['look', 'look again', 'many', 'and again', 'many', 'once more', 'the last']) {
      expect(await agent.prompt(prompt).result).toMatchObject({ reason: 'done' })
    }
    await agent.dispose()
    expect(server.refused).toEqual([])
    const paid = server.requests.reduce((sum, { usage }) => sum + usage!.input - usage!.cached, 0)
    const prompts = server.requests.map(({ path, raw }) => sentPrompt(path, JSON.parse(raw) as Record<string, unknown>))
    expect(server.requests.length).toBeGreaterThan(15)
    const ratio = paid / least(prompts)
    expect(ratio).toBeGreaterThanOrEqual(1)
    expect(ratio).toBeLessThanOrEqual(most)
  })
})
