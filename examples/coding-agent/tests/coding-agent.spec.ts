import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Context } from 'cordis'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { boot } from '@headrace/loader'
import { type ModelServer, createModelServer } from '@headrace/model-server'
import { verify } from '@headrace/session'
import { codingAgent } from '../src/index.ts'
import { ended, startHeadrace } from '../../demo/src/command.ts'
import { type Project, makeProject } from '../../demo/src/project.ts'
import { DONE, PROMPT, demoScript } from '../../demo/src/script.ts'

const FILE = fileURLToPath(new URL('../cordis.yml', import.meta.url))
const yml = readFileSync(FILE, 'utf8')
const ids = [...yml.matchAll(/^- id: (.*)$/gm)].map(([, id]) => id!)

let project: Project
let server: ModelServer
let apps: Context[]
beforeEach(async () => {
  project = makeProject()
  apps = []
  server = await createModelServer(demoScript())
  vi.stubEnv('XDG_STATE_HOME', project.state)
})
afterEach(async () => {
  for (const app of apps) await app.fiber.dispose()
  vi.unstubAllEnvs()
  await server.close()
  project.remove()
})

it('mends the project with one command', async () => {
  const child = startHeadrace(project, ['run', PROMPT, '--yes', '--app', FILE], { stdio: 'pipe', env: { HEADRACE_MODEL: 'endpoint/scripted', HEADRACE_BASE_URL: server.url } })
  let out = ''
  child.stdout!.on('data', (text: Buffer) => { out += String(text) })
  expect(await ended(child)).toBe(0)
  expect(out).toContain(DONE)
  expect(project.passes()).toBe(true)
})

/** Boots a YAML text as if it were the example's file. */
async function fromYaml(text: string): Promise<Context> {
  const file = join(project.root, 'cordis.yml')
  writeFileSync(file, text)
  const ctx = new Context()
  apps.push(ctx)
  await boot(ctx, { file, fallbacks: [FILE], env: { HEADRACE_MODEL: 'endpoint/scripted', HEADRACE_BASE_URL: server.url } })
  return ctx
}

/** What the first request of an agent in this app is: the body's bytes, the digest of all of it, and who signed what. */
async function firstRequest(ctx: Context): Promise<unknown> {
  const agent = await ctx.agents.create({ cwd: project.cwd })
  const at = server.requests.length
  await agent.prompt('Hello.').result
  const events = [...agent.session.events()]
  const dispatch = events.find(({ type }) => type === 'request/dispatch')!.data as { digest: string }
  expect(verify(events).difference).toBeUndefined()
  const { owners } = agent.session.requestHeader()!
  await agent.dispose()
  return { raw: server.requests[at]!.raw, digest: dispatch.digest, owners: JSON.stringify(owners) }
}

it('sends the same first request, byte for byte, as the one function', async () => {
  writeFileSync(join(project.cwd, 'AGENTS.md'), 'Run the tests with node --test.')
  const code = await codingAgent({ model: 'endpoint/scripted', providers: { endpoint: { baseURL: server.url } } })
  apps.push(code)
  const one = await firstRequest(code)
  expect(one).toEqual(await firstRequest(await fromYaml(yml)))
  expect((one as { raw: string }).raw).toContain('Run the tests with node --test.')
})

it('leaves out the same part as the one function does', async () => {
  const code = await codingAgent({ model: 'endpoint/scripted', providers: { endpoint: { baseURL: server.url } }, skills: false, instructions: 'Be brief.' })
  apps.push(code)
  const text = yml.replace('- id: skills\n', '- id: skills\n  disabled: true\n').replace('headrace/instructions\n', 'headrace/instructions\n  config: { text: Be brief. }\n')
  expect(await firstRequest(await fromYaml(text))).toEqual(await firstRequest(code))
})

it.each(ids)('without %s it boots, or says who misses it', async (id) => {
  const booted = await fromYaml(yml.replace(`- id: ${id}\n`, `- id: ${id}\n  disabled: true\n`)).then((ctx) => ctx, (error: Error) => error.message)
  if (id === 'agent') expect(booted).toMatch(/briefing: waits for the service agents, which nobody provides/)
  else if (id === 'briefing') expect((booted as string).match(/\w[\w-]*: waits for the service briefing/g)).toEqual(['agents-md', 'skills', 'environment'].map((name) => `${name}: waits for the service briefing`))
  else expect((booted as Context).get('agents')).toBeDefined()
})
