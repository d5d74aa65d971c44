import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Context, type Plugin } from 'cordis'
import type { Agent } from '@headrace/agent'
import { BriefingService } from '@headrace/briefing'
import * as loader from '@headrace/loader'
import { NO_USAGE } from '@headrace/message'
import { createModelServer } from '@headrace/model-server'
import { RunContext } from '@headrace/run-context'
import { removeFolder } from '@headrace/testing/folder'
import { type Harness, harness, scriptedAdapter } from '@headrace/testing'
import headrace from 'headrace'
import { expect } from 'vitest'
import { root } from '../rules/workspace.ts'
import { type Block, blocksOf } from './blocks.ts'
import { type Values, runBlock } from './run.ts'

/** Blocks that are compiled and not run, and why. */
export const COMPILED_ONLY: Readonly<Record<string, string>> = {
  'packages/testing/README.md#@headrace/testing 2': 'registers tests of its own; packages/headrace/templates/plugin/tests/growth.spec.ts is the same call, and runs',
  'plugins/acp/README.md#@headrace/plugin-acp': 'speaks over the stdin and stdout of its process; packages/headrace/tests/acp.spec.ts does the same',
  'plugins/http/README.md#@headrace/plugin-http': 'listens at a port that may be taken; plugins/http/tests/serving.spec.ts loads both',
  'plugins/http/README.md#@headrace/plugin-http 2': 'needs a token of its reader\'s; plugins/http/tests/kit.ts is the same call, and runs',
  'docs/plugins.md#Testing it 2': 'registers tests of its own; packages/headrace/templates/plugin/tests/growth.spec.ts is the same call, and runs',
}

/** Where a block runs that takes an app for granted: the harness's, with one agent that has answered once. */
export interface Stage {
  readonly app: Harness
  /** An empty folder, the agent's. */
  readonly cwd: string
  readonly values: Values
}

export type Showing = (block: Block, stage: Stage) => Promise<void>

const day: Plugin = { name: 'clock', inject: ['agents'], apply: async (ctx: Context) => void ctx.agents.after({ key: 'day', content: () => 'Today is Monday.' }) }
const tone: Plugin = { name: 'tone', inject: ['system'], apply: async (ctx: Context) => void ctx.system.section({ key: 'tone', content: 'Be brief.' }) }

export async function withStage(use: (stage: Stage) => Promise<void>): Promise<void> {
  const cwd = await mkdtemp(join(tmpdir(), 'headrace-docs-'))
  await writeFile(join(cwd, 'AGENTS.md'), 'Use tabs.\n')
  const app = await harness({ agent: { cwd } })
  try {
    await app.run('Hi')
    const request = app.requests[0]!
    const values = {
      ctx: app.ctx, agent: app.agent, clock: day, tone, request, usage: NO_USAGE, prompts: [], myAdapter: scriptedAdapter(['It is noon.']),
      context: new RunContext({ facts: [['date', '2026-11-30']] }), carrier: () => undefined, bodyOf: () => '', today: '2026-11-30', branch: 'main', notes: undefined,
      // They are of packages that are not here; a model of theirs is looked at when it is asked.
      createAnthropic: () => ({}),
    }
    await use({ app, cwd, values })
    await expectLoaded(app.ctx)
    expect(app.reports).toEqual([])
  } finally {
    await app.dispose()
    removeFolder(cwd)
  }
}

/**
 * Runs a block of which nothing more is promised than that it runs, and that what it loads is there; a plugin is loaded
 * and takes part in a turn.
 */
export async function show(block: Block, { values }: Stage, replaced: Values = {}): Promise<Record<string, unknown>> {
  const variables = await runBlock(block, values, replaced)
  if ('apply' in variables) {
    const app = await harness({ plugins: [BriefingService, variables as unknown as Plugin] })
    expect(await app.run('Hi')).toMatchObject({ reason: 'done' })
    expect(app.reports).toEqual([])
    await app.dispose()
  }
  const own = variables.ctx as Context | undefined
  if (own) {
    await expectLoaded(own)
    await own.fiber.dispose()
  }
  return variables
}

async function expectLoaded(ctx: Context): Promise<void> {
  for (const runtime of ctx.registry.values()) {
    for (const fiber of runtime.fibers) {
      await fiber.await().catch(() => undefined)
      expect([fiber.name, fiber.state]).toEqual([fiber.name, 2])
    }
  }
}

/** Lines that are alternatives: the block runs once with each. */
const eitherOf = (pattern: RegExp): Showing => async (block) => {
  const lines = block.text.split('\n')
  const alternatives = lines.filter((line) => pattern.test(line))
  expect(alternatives.length).toBeGreaterThan(1)
  for (const one of alternatives) {
    const text = lines.filter((line) => line === one || !pattern.test(line)).join('\n')
    await withStage(async (stage) => void await show({ ...block, text }, stage))
  }
}

/** The model is a server of ours, and logs stay in memory. */
const withModel = (use: (block: Block, stage: Stage, module: Values) => Promise<void>): Showing => async (block, stage) => {
  const server = await createModelServer(() => 'The sum is off by one.')
  const apply = (ctx: Context, config: object) => headrace.apply(ctx, { ...config, baseURL: server.url, model: 'scripted', store: false })
  try {
    await use(block, stage, { headrace: { __esModule: true, default: { ...headrace, apply } } })
    expect(server.requests.map(({ outcome }) => outcome)).toEqual(['answered'])
  } finally {
    await server.close()
  }
}

/** Stdout, while something runs. */
async function printed(run: () => Promise<unknown>): Promise<string> {
  const { write } = process.stdout
  let text = ''
  process.stdout.write = ((piece: string) => (text += piece) !== '') as typeof write
  try {
    await run()
  } finally {
    process.stdout.write = write
  }
  return text
}

const printsAnswer = withModel(async (block, stage, module) => {
  expect(await printed(() => show(block, stage, module))).toContain('The sum is off by one.')
})

interface Users {
  readonly ctx: Context
  answer(user: string, prompt: string): Promise<string>
  goDown(): Promise<void>
}

/** The block is a process: it runs twice, over one folder, with users that prompt at once. */
const servesUsers: Showing = async (block, { cwd }) => {
  const server = await createModelServer(() => 'The sum is off by one.')
  const { DATA } = process.env
  const { log } = console
  process.env.DATA = cwd
  console.log = () => undefined
  try {
    for (const turns of [2, 4]) {
      const apply = (ctx: Context, config: object) => headrace.apply(ctx, { ...config, baseURL: server.url, model: 'scripted' })
      const { answer, goDown, ctx } = (await runBlock(
        block,
        {},
        { headrace: { __esModule: true, default: { ...headrace, apply } } },
      )) as unknown as Users
      expect(await Promise.all(['alice', 'bob', 'bob'].map((user) => answer(user, 'Hi')))).toEqual(Array(3).fill('The sum is off by one.'))
      const { agents } = ctx
      expect([...agents.ids()].sort()).toEqual(['alice', 'bob'])
      // Nobody works in the server's folder, or in another's.
      const folders = agents.ids().map((id) => agents.get(id)!.cwd)
      expect([folders.every((folder) => folder?.startsWith(`${cwd}/`)), new Set(folders).size]).toEqual([true, 2])
      expect([...agents.get('bob')!.session.events()].filter(({ type }) => type === 'turn/end')).toHaveLength(turns)
      await goDown()
    }
  } finally {
    console.log = log
    if (DATA === undefined) delete process.env.DATA
    else process.env.DATA = DATA
    await server.close()
  }
}

const tellsDay: Showing = async (block, { app }) => {
  await app.ctx.plugin(await runBlock(block) as unknown as Plugin)
  await app.run('Hi')
  expect(app.requests.at(-1)!.owners.at(-1)).toBe('clock/day')
}

/** By id, what is promised of a block beyond that it runs. */
export const SHOWINGS: Readonly<Record<string, Showing>> = {
  'README.md#An agent in ten lines': printsAnswer,
  // In a folder of the test's, not of the machine's.
  'plugins/store-sqlite/README.md#@headrace/plugin-store-sqlite': async (block, stage) =>
    void await show({ ...block, text: block.text.replace('/var/lib/app', stage.cwd) }, stage),
  'README.md#A plugin in six lines': tellsDay,
  'README.md#A plugin in six lines 2': async (block, stage) => {
    await show(block, stage)
    await stage.app.run('Hi')
    const { system, tools } = stage.app.requests.at(-1)!
    expect([system, tools?.map(({ name }) => name)]).toEqual(['Answer in one sentence.', ['now']])
  },
  'docs/design.md#8. How it should feel': printsAnswer,
  'docs/design.md#8. How it should feel 2': tellsDay,
  'docs/design.md#8. How it should feel 3': async (block, stage) => {
    await show(block, stage)
    await stage.app.run('Hi')
    expect(stage.app.requests.at(-1)!.config.model).toBe('scripted/deepseek-flash')
  },
  'docs/design.md#8. How it should feel 4': async (block, stage) => {
    await stage.app.ctx.plugin(BriefingService)
    await show(block, stage)
  },
  'docs/guide.md#A first agent': printsAnswer,
  'docs/guide.md#Sessions and resume': async (block, stage) => {
    expect(await show(block, stage)).toMatchObject({ text: 'ok' })
  },
  'docs/guide.md#Tools, and who allows them': async (block, { app, values }) => {
    await runBlock(block, values)
    for (const version of ['1.2', 'latest']) {
      const call = [{ name: 'deploy', arguments: { version } }]
      const other = await harness({ script: [{ calls: call }, 'Done.'], plugins: [{ name: 'deploys', inject: ['tools'], apply: async (ctx: Context) => void await runBlock(block, { ...values, ctx }) }] })
      await other.run('Deploy.')
      expect(JSON.stringify(other.requests[1]!.messages.at(-1))).toContain(version === 'latest' ? 'Name a version.' : 'Version 1.2 is deployed.')
      await other.dispose()
    }
    await app.run('Hi')
    expect(app.requests.at(-1)!.tools?.map(({ name }) => name)).toEqual(['deploy'])
  },
  'docs/guide.md#Telling the model something': async (block) => {
    const app = await harness({ plugins: [BriefingService, await runBlock(block) as unknown as Plugin] })
    await app.run('Hi')
    const { system, owners } = app.requests[0]!
    expect([system, owners]).toEqual(['Answer in one sentence.', ['house/rules', 'user', 'house/day']])
    await app.dispose()
  },
  'docs/guide.md#From a YAML file': async (block, { cwd, values }) => {
    // The block above it is the app.
    const [app] = blocksOf('docs/guide.md', readFileSync(`${root}docs/guide.md`, 'utf8')).filter(({ language }) => language === 'yaml')
    await writeFile(join(cwd, 'cordis.yml'), app!.text)
    await writeFile(join(cwd, 'house.mjs'), 'export const inject = [\'agents\']\nexport const apply = async (ctx) => void ctx.agents.after({ key: \'day\', content: () => \'Today is Monday.\' })\n')
    const ctx = new Context()
    const boot: typeof loader.boot = (on, options = {}) => loader.boot(on, { ...options, file: join(cwd, options.file!), env: { HEADRACE_DATA: cwd }, fallbacks: [`${root}package.json`] })
    const { agent } = await runBlock(block, { ...values, ctx }, { '@headrace/loader': { ...loader, boot, __esModule: true } }) as { readonly agent: Agent }
    expect(existsSync(join(cwd, `${agent.id}.jsonl`))).toBe(true)
    await ctx.fiber.dispose()
  },
  'docs/guide.md#In an existing app': servesUsers,
  'docs/plugins.md#For one agent': async (block, stage) => {
    await show(block, stage)
    const other = await stage.app.ctx.agents.create({ model: 'scripted/model' })
    await stage.app.run('Hi')
    await other.prompt('Hi').result
    expect(stage.app.requests.slice(-2).map(({ system }) => system)).toEqual(['Be brief.', undefined])
  },
  'packages/agent/README.md#@headrace/agent': async (block, stage) => {
    expect(await show(block, stage)).toMatchObject({ text: 'It is noon.', reason: 'done' })
  },
  'packages/headrace/README.md#In code': withModel(async (block, stage, module) => {
    expect(await show(block, stage, module)).toMatchObject({ text: 'The sum is off by one.' })
  }),
  'packages/loader/README.md#@headrace/loader': async (block, stage) => {
    await writeFile(join(stage.cwd, 'cordis.yml'), '- id: briefing\n  name: \'@headrace/briefing\'\n  disabled: true\n')
    const boot: typeof loader.boot = (ctx, options = {}) => loader.boot(ctx, { ...options, file: join(stage.cwd, options.file!) })
    await show(block, stage, { '@headrace/loader': { ...loader, boot, __esModule: true } })
  },
  'packages/message/README.md#@headrace/message': async (block, stage) => {
    const [line] = /^copyJson\(\{ list.*$/m.exec(block.text)!
    await show({ ...block, text: block.text.replace(line, '') }, stage)
    const [, said] = /JsonError: (.*)$/.exec(line)!
    await expect(show({ ...block, text: `import { copyJson } from '@headrace/message'\n${line}` }, stage)).rejects.toMatchObject({ name: 'JsonError', message: said })
  },
  'plugins/agents-md/README.md#@headrace/plugin-agents-md': eitherOf(/^await ctx\.plugin\(agentsMd/),
  'plugins/skills/README.md#@headrace/plugin-skills': eitherOf(/^await ctx\.plugin\(skills/),
  'plugins/subagent/README.md#@headrace/plugin-subagent': eitherOf(/^await ctx\.plugin\(subagent/),
  'plugins/workspace-tools/README.md#@headrace/plugin-workspace-tools': eitherOf(/^await ctx\.plugin\(workspaceTools/),
}
