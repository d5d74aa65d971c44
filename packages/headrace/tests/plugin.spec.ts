import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Context } from 'cordis'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import * as agent from '@headrace/agent'
import { BriefingService } from '@headrace/briefing'
import * as agentsMd from '@headrace/plugin-agents-md'
import * as models from '@headrace/plugin-models'
import { CompactionService } from '@headrace/plugin-compaction'
import * as environment from '@headrace/plugin-environment'
import * as retry from '@headrace/plugin-retry'
import * as skills from '@headrace/plugin-skills'
import * as storeJsonl from '@headrace/plugin-store-jsonl'
import * as storeSqlite from '@headrace/plugin-store-sqlite'
import * as workspaceTools from '@headrace/plugin-workspace-tools'
import { verify } from '@headrace/session'
import { INSTRUCTIONS } from '../src/plugin.ts'
import headrace from 'headrace'
import { BIN, Lab } from './command.ts'

let lab: Lab
let ctx: Context
beforeEach(() => {
  lab = new Lab()
  ctx = new Context()
  vi.stubEnv('XDG_STATE_HOME', join(lab.root, 'state'))
})
afterEach(async () => {
  await ctx.fiber.dispose()
  vi.unstubAllEnvs()
  await lab.close()
})

const README = readFileSync(fileURLToPath(new URL('../../../README.md', import.meta.url)), 'utf8')

function block(section: string): string {
  return /```\w+\n([^]*?)```/.exec(README.slice(README.indexOf(`## ${section}`)))![1]!
}

it('the README\'s agent has ten lines or fewer, and runs as it stands with plain node', async () => {
  const source = block('An agent in ten lines')
  expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(10)
  const server = await lab.serve(() => 'Because two is not three.')
  const modules = join(lab.root, 'node_modules')
  mkdirSync(modules)
  symlinkSync(fileURLToPath(new URL('..', import.meta.url)), join(modules, 'headrace'), 'dir')
  symlinkSync(dirname(createRequire(import.meta.url).resolve('cordis/package.json')), join(modules, 'cordis'), 'dir')
  writeFileSync(join(lab.root, 'agent.mjs'), source)
  // Not spawnSync: the server is in this process.
  const { ended } = lab.startNode(join(lab.root, 'agent.mjs'), { env: { HEADRACE_MODEL: 'scripted', HEADRACE_BASE_URL: server.url } })
  expect(await ended).toEqual({ code: 0, out: 'Because two is not three.', err: '' })
  expect(verify(await lab.events())).toMatchObject({ requests: 1 })
})

it('the README\'s plugin has six lines or fewer, and does what it says', async () => {
  const source = block('A plugin in six lines')
  expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(6)
  const file = join(lab.root, 'clock.mjs')
  writeFileSync(file, source.replace(/^import type .*\n/, '').replace('ctx: Context', 'ctx'))
  const server = await lab.serve(() => 'ok')
  await ctx.plugin(headrace, { model: 'scripted', baseURL: server.url, store: false })
  await ctx.plugin(await import(/* @vite-ignore */ file) as { name: string; apply(ctx: Context): Promise<void> })
  const agent = await ctx.agents.create({ cwd: lab.cwd })
  await agent.prompt('Hi').result
  const last = server.requests[0]!.body.messages.at(-1)!.content as readonly { readonly text: string }[]
  expect(last.at(-1)!.text).toMatch(/^<system>\nToday is \d{4}-\d\d-\d\d\.\n<\/system>$/)
  expect(agent.session.requestHeader()!.owners.after).toEqual(['clock/day'])
})

it('one import gives services, a store, models and tools', async () => {
  await ctx.plugin(headrace, { model: 'deepseek/deepseek-flash' })
  const agent = await ctx.agents.create({ id: 's', cwd: lab.cwd })
  expect(lab.files()).toContain('s.jsonl')
  expect(ctx.llm.providers()).toEqual(expect.arrayContaining(['deepseek', 'openai', 'ollama']))
  expect(ctx.tools.define).toBeTypeOf('function')
  await agent.dispose()
})

it('each part can be left out', async () => {
  const none = ['instructions', 'store', 'providers', 'tools', 'agentsMd', 'skills', 'environment', 'retry', 'compaction']
  await ctx.plugin(headrace, Object.fromEntries(none.map((part) => [part, false])))
  await ctx.agents.create({ id: 's' })
  for (const service of ['agentsMd', 'skills', 'compaction'] as const) expect(ctx.get(service)).toBeUndefined()
  expect(() => lab.files()).toThrow()
  expect(ctx.llm.providers()).toEqual([])
})

it('each part can be configured', async () => {
  const server = await lab.serve((body) => (body.tools ?? []).map((tool) => tool.function.name).join(' '))
  const directory = join(lab.root, 'logs')
  await ctx.plugin(headrace, {
    model: 'lab/one', config: { temperature: 0.5 }, agent: { limits: { steps: 1 } },
    store: { directory, fsync: 'never' }, providers: { lab: { baseURL: server.url } }, tools: { tools: ['read', 'list'] }, skills: false, instructions: 'Be brief.',
  })
  const agent = await ctx.agents.create({ cwd: lab.cwd })
  expect((await agent.prompt('Hi').result).text).toBe('list read')
  expect(server.requests[0]!.body).toMatchObject({ model: 'one', temperature: 0.5, messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }] })
  expect(readFileSync(join(directory, `${agent.id}.jsonl`), 'utf8')).toContain('"session/open"')
})

it('a config it does not know is refused, by name; what is wrong in a part is told without the values', async () => {
  const refusal = (config: object) => ctx.plugin({ ...headrace }, config).then(() => 'none', (error: Error) => error.message)
  expect(await refusal({ modle: 'x' })).toContain('config.modle: there is no such key; did you mean "model"?')
  expect(await refusal({ store: { dir: 'x' } })).toContain('config.store.dir: there is no such key; there is directory, fsync')
  expect(await refusal({ agent: { limit: {} } })).toContain('config.agent.limit: there is no such key; did you mean "limits"?')
  expect(await refusal({ agent: { limits: { step: 3 } } })).toContain('config.agent.limits.step: there is no such key; did you mean "steps"?')
  expect(await refusal({ tools: { maxRead: 'sk-secret' } })).toMatch(/config\.tools\.maxRead: must be a whole number.*, is a text/)
  expect(await refusal({ tools: { env: { kep: [] } } })).toContain('config.tools.env.kep: there is no such key')
  expect(await refusal({ retry: true })).toContain('config.retry: must be false or a map, is true or false')
  const wrong = { providers: { lab: { apiKey: 'sk-secret', baseURL: 7 } } } as object
  const problem = await refusal(wrong)
  expect(problem).toMatch(/providers.*baseURL/)
  expect(problem).not.toContain('sk-secret')
})

it('unloading it unloads all of it', async () => {
  const fiber = await ctx.plugin(headrace, { store: false })
  await fiber.dispose()
  expect(ctx.get('agents')).toBeUndefined()
  expect(ctx.get('tools')).toBeUndefined()
})

it('the command is there before the build, so that a package manager can link it', () => {
  const manifest = createRequire(import.meta.url)('../package.json') as { bin: { headrace: string }; files: readonly string[] }
  expect(manifest.bin.headrace).toBe('bin/headrace.js')
  expect(manifest.files).toContain('bin')
  expect(statSync(BIN).mode & 0o111).not.toBe(0)
})

it('the README says what the model sees', () => {
  expect(readFileSync(new URL('../README.md', import.meta.url), 'utf8')).toContain(INSTRUCTIONS)
})

interface Standard {
  validate(value: unknown): { readonly issues?: readonly { readonly message: string }[] }
}

it('each plugin that ships refuses a key that it does not know, in code as in YAML', async () => {
  const services = { briefing: BriefingService, compaction: CompactionService }
  const plugins = { agent, agentsMd, models, ...services, environment, retry, skills, storeJsonl, storeSqlite, workspaceTools }
  for (const [key, plugin] of Object.entries(plugins)) {
    const { validate } = (plugin.Config as unknown as { readonly '~standard': Standard })['~standard']
    expect(validate({}).issues, key).toBeUndefined()
    expect(validate({ nothingOfTheKind: 1 }).issues?.[0]?.message, key).toMatch(/^config\.nothingOfTheKind: there is no such key/)
  }
})
