import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ModelServer, type Script, toolResults } from '@headrace/model-server'
import { verify } from '@headrace/session'
import { Lab, type Running, type StartOptions, lines } from './command.ts'

let lab: Lab
beforeEach(() => { lab = new Lab() })
afterEach(() => lab.close())

function write(name: string, text: string): void {
  writeFileSync(join(lab.cwd, name), text)
}

/** As most editors do. */
function save(name: string, text: string): void {
  write(`.${name}.swp`, text)
  renameSync(join(lab.cwd, `.${name}.swp`), join(lab.cwd, name))
}

const BASE = `- id: agent
  name: '@headrace/agent'
- id: briefing
  name: '@headrace/briefing'
- id: models
  name: '@headrace/plugin-models'
  config:
    providers: { lab: { baseURL: "\${LAB_URL}" } }
- id: store
  name: '@headrace/plugin-store-jsonl'
- id: model
  name: headrace/model
  config: { model: lab/one }
`

function env(server: ModelServer): { env: Record<string, string> } {
  return { env: { LAB_URL: server.url } }
}

const stderr = (running: Running): (() => string) => {
  let text = ''
  running.child.stderr!.on('data', (piece: string) => { text += piece })
  return () => text
}

describe('headrace start', () => {
  it('boots the app and stays until it is told to stop, then ends all of it and leaves with 0', async () => {
    write('one.mjs', 'export const name = "one"\nexport async function apply(ctx, { word }) { console.log("up " + word); return () => console.log("down " + word) }\n')
    write('cordis.yml', '- id: one\n  name: ./one.mjs\n  config: { word: "${WORD:-hi}" }\n')
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const { child, ended, seen } = lab.start(['start'])
      await seen(/cordis\.yml runs: one\n/)
      child.kill(signal)
      expect(await ended).toMatchObject({ code: 0, out: 'up hi\ndown hi\n' })
    }
  })

  it('leaves with 1 where the app is wrong, each problem on its own line with its place', async () => {
    write('waits.mjs', 'export const name = "waits"\nexport const inject = ["moon"]\nexport async function apply() {}\n')
    write('app.yml', '- name: "@headrace/plugin-retyr"\n- { id: store, name: "@headrace/plugin-store-jsonl", config: { fsync: sk-secret, dir: x } }\n')
    expect(await lab.run(['start', 'app.yml'])).toMatchObject({ code: 1, out: '', err: `headrace: app.yml:1:3: @headrace/plugin-retyr: there is no package @headrace/plugin-retyr here; did you mean "@headrace/plugin-retry"?
headrace: app.yml:2:82: store: config.dir: there is no such key; there is directory, fsync
` })
    write('app.yml', '- { id: waits, name: ./waits.mjs }\n- { id: store, name: "@headrace/plugin-store-jsonl" }\n')
    expect((await lab.run(['start', 'app.yml'])).err).toBe(`headrace: app.yml:1:3: waits: waits for the service moon, which nobody provides
headrace: app.yml:2:3: store: waits for the service sessions, which nobody provides
`)
    expect(await lab.run(['start', '--app', 'none.yml'])).toMatchObject({ code: 1, err: 'headrace: none.yml:1:1: there is no such file\n' })
    expect(await lab.run(['start'])).toMatchObject({ code: 1, err: 'headrace: cordis.yml:1:1: there is no such file\n' })
  })
})

/** Keeps one agent, and gives it each prompt that is posted to it. */
const DRIVER = `import { createServer } from 'node:http'
export const name = 'driver'
export const inject = ['agents']
export async function apply(ctx) {
  const agent = await ctx.agents.create({ id: 'kept' })
  const server = createServer(async (request, response) => {
    let prompt = ''
    for await (const piece of request) prompt += piece
    const { reason, text } = await agent.prompt(prompt).result
    response.end(reason + ': ' + text)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  console.log('port ' + server.address().port)
  return () => server.close()
}
`

function clock(time: string, execute = `execute: () => ${JSON.stringify(time)}`): string {
  return `export const name = 'clock'
export const inject = ['tools']
export async function apply(ctx, config) {
  ctx.tools.define({ name: 'now', description: 'The time.', parameters: { type: 'object' }, ${execute} })
}
`
}

/** Calls \`now\` for each prompt, and says what it gave. */
const asksClock: Script = (body) => {
  const last = body.messages.at(-1)!
  if (last.role === 'user') return { toolCalls: [{ name: 'now', arguments: {} }] }
  return `It is ${toolResults(body).at(-1)?.text}.`
}

it('hot reload: a tool\'s plugin is edited under a running agent; its session goes on, and no state of the files takes the app down', async () => {
  const server = await lab.serve(asksClock)
  write('driver.mjs', DRIVER)
  write('clock.mjs', clock('one o\'clock'))
  const app = `${BASE}- id: driver\n  name: ./driver.mjs\n- id: clock\n  name: ./clock.mjs\n`
  write('cordis.yml', app)
  const running = lab.start(['start', '--watch'], env(server))
  const err = stderr(running)
  let out = ''
  running.child.stdout!.on('data', (piece: string) => { out += piece })
  await running.seen(/cordis\.yml runs: agent, .*clock; it is watched/)
  const port = /port (\d+)/.exec(out)![1]!
  const ask = async (prompt: string): Promise<string> => (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: prompt })).text()
  const told = async (pattern: RegExp): Promise<void> => { await expect.poll(err).toMatch(pattern) }
  expect(await ask('Time?')).toBe('done: It is one o\'clock.')

  save('clock.mjs', clock('two o\'clock'))
  await told(/clock reloaded\n/)
  expect(await ask('And now?')).toBe('done: It is two o\'clock.')

  // A syntax error keeps the old one.
  write('clock.mjs', 'export const name = ;\n')
  await told(/warning: .*cordis\.yml:17:3: clock: its module cannot be loaded: SyntaxError/)
  expect(await ask('And now?')).toBe('done: It is two o\'clock.')

  // A turn in flight: its tool leaves while it runs. The call has a result that says so, and the turn ends.
  save('clock.mjs', clock('', 'execute: (_, { signal }) => new Promise((resolve) => { console.log("called"); signal.addEventListener("abort", () => resolve("late")) })'))
  await told(/clock reloaded\n[^]*clock reloaded\n/)
  const asked = ask('And now?')
  await running.seen(/called/)
  save('clock.mjs', clock('four o\'clock'))
  expect(await asked).toMatch(/^done: It is .*(unloaded|left|gone|outcome)/s)
  await told(/(clock reloaded\n[^]*){3}/)
  expect(await ask('And now?')).toBe('done: It is four o\'clock.')

  // What it imports from beside it counts too.
  write('time.mjs', 'export const time = "five o\'clock"\n')
  save('clock.mjs', `import { time } from './time.mjs'\n${clock('', 'execute: () => time')}`)
  await told(/(clock reloaded\n[^]*){4}/)
  save('time.mjs', 'export const time = "six o\'clock"\n')
  await told(/(clock reloaded\n[^]*){5}/)
  expect(await ask('And now?')).toBe('done: It is six o\'clock.')

  // A broken file keeps the app; a changed one changes what it says and nothing else.
  save('cordis.yml', '- id: [\n')
  await told(/warning: .*cordis\.yml:2:1: /)
  save('cordis.yml', app.replace('config: { model: lab/one }', 'config: { model: lab/one, config: { temperature: 0.5 } }'))
  await told(/model updated\n/)
  expect(await ask('And now?')).toBe('done: It is six o\'clock.')
  expect(err()).not.toMatch(/headrace: (agent|driver) /)

  running.child.kill('SIGTERM')
  expect((await running.ended).code).toBe(0)
  const events = await lab.events('kept')
  expect(verify(events)).toMatchObject({ requests: 14 })
  expect(events.filter(({ type }) => type === 'turn/end').map(({ data }) => (data as { reason: string }).reason)).toEqual(Array.from({ length: 7 }, () => 'done'))
  expect(lab.files()).toEqual(['kept.jsonl'])
})

it('headrace check says what is wrong with an app, and starts nothing', async () => {
  write('one.mjs', 'export const name = "one"\nexport async function apply() { console.log("up") }\n')
  write('cordis.yml', '- name: ./one.mjs\n- { name: headrace, config: { modle: x } }\n')
  expect(await lab.run(['check'])).toEqual({ code: 1, out: '', err: expect.stringMatching(/^cordis\.yml:2:31: headrace: config\.modle: there is no such key; did you mean "model"\?; there is model, .*\n$/) as string })
  write('cordis.yml', '- name: headrace\n  config:\n    tools:\n      maxRead: big\n    skills: { maxLisst: 3 }\n    retry: yes\n')
  expect((await lab.run(['check'])).err).toMatch(/^cordis\.yml:5:15: headrace: config\.skills\.maxLisst: there is no such key.*\n$/)
  write('cordis.yml', '- name: headrace\n  config:\n    tools:\n      maxRead: big\n')
  expect(await lab.run(['check'])).toEqual({ code: 1, out: '', err: expect.stringMatching(/^cordis\.yml:4:7: headrace: config\.tools\.maxRead: must be a whole number.*, is a text\n$/) as string })
  // Of the set, and by itself.
  write('cordis.yml', '- name: headrace\n  config:\n    approval:\n      allow:\n        - bash(npm test *)\n        - bash(npm test\n    retry: false\n')
  expect((await lab.run(['check'])).err).toMatch(/^cordis\.yml:6:11: headrace: config\.approval\.allow\[1\]: is no rule: write a tool, .*\n$/)
  write('cordis.yml', '- name: "@headrace/plugin-approval"\n  config: { deny: ["other(x)"] }\n- name: "@headrace/agent"\n')
  expect((await lab.run(['check'])).err).toMatch(/^cordis\.yml:2:\d+: .*: config\.deny\[0\]: is no rule: say which argument of other it is about: .*\n$/)
  write('cordis.yml', '- name: "@headrace/agent"\n- { id: tasks, name: "@headrace/plugin-tasks" }\n')
  expect(await lab.run(['check'])).toEqual({ code: 1, out: '', err: 'cordis.yml:2:3: tasks: waits for the service briefing, which nobody here provides; add an entry @headrace/briefing\n' })
  // It may provide what is missing.
  write('cordis.yml', '- name: "@headrace/agent"\n- name: "@headrace/plugin-tasks"\n- name: ./one.mjs\n')
  expect((await lab.run(['check'])).code).toBe(0)
  write('cordis.yml', '- name: ./one.mjs\n- { name: headrace, config: { model: lab/one, skills: false } }\n')
  for (const args of [['cordis.yml'], ['--app', 'cordis.yml']]) expect(await lab.run(['check', ...args])).toEqual({ code: 0, out: 'ok: cordis.yml\n', err: '' })
  expect(await lab.run(['check', 'cordis.yml', '--app', 'cordis.yml'])).toEqual({ code: 2, out: '', err: 'headrace: <file> and --app name two apps; give one of them\n' })
})

describe('headrace run --app', () => {
  it('gives the prompt to an agent of that app, in its store, and goes on with it', async () => {
    const server = await lab.serve((body) => `${body.model} ${(body.tools ?? []).map((tool) => tool.function.name).join(' ')}`)
    write('clock.mjs', clock('now'))
    const logs = join(lab.root, 'logs')
    write('app.yml', `${BASE.replace('\'@headrace/plugin-store-jsonl\'', `'@headrace/plugin-store-jsonl'\n  config: { directory: ${logs} }`)}- name: ./clock.mjs\n`)
    expect(await lab.run(['run', 'Hi', '--app', 'app.yml'], env(server))).toMatchObject({ code: 0, out: 'one now\n' })
    expect(await lab.run(['run', 'Again', '--app', 'app.yml', '--continue', '--model', 'lab/two'], env(server))).toMatchObject({ code: 0, out: 'two now\n', err: expect.stringContaining(', continued') })
    expect(await lab.run(['run', '--app', 'app.yml', '--continue'], env(server))).toMatchObject({ code: 0, err: expect.stringContaining('nothing is left open') })
    expect(server.requests.at(-1)!.body.messages.filter(({ role }) => role === 'user')).toHaveLength(2)
    expect(() => lab.files()).toThrow()
  })

  it('says at its end where the session is: what --store takes, or that it is gone with the process', async () => {
    const server = await lab.serve(() => 'ok')
    const at = (store: string): string => BASE.replace(/- id: store\n.*\n/, store)
    write('app.yml', at("- name: '@headrace/plugin-store-jsonl'\n  config: { directory: ./my logs }\n"))
    const { err } = await lab.run(['run', 'Hi', '--app', 'app.yml'], env(server))
    const [, store] = /session \S+ \(--store '(jsonl:.*)'\)\n$/.exec(err) ?? []
    expect((await lab.run(['verify', 'last', '--store', store!])).out).toMatch(/^ok: 1 request /)
    write('app.yml', at(''))
    expect((await lab.run(['run', 'Hi', '--app', 'app.yml'], env(server))).err).toMatch(/session \S+ \(kept in memory only: this app has no store\)\n$/)
    expect(lines((await lab.run(['run', 'Hi', '--app', 'app.yml', '--json'], env(server))).out).at(-1)).toMatchObject({ store: 'memory' })
    write('app.yml', BASE)
    expect((await lab.run(['run', 'Hi', '--app', 'app.yml'], env(server))).err).toMatch(/session \S+\n$/)
  })

  it('says what is wrong with the command line, or with the app', async () => {
    const server = await lab.serve(() => 'ok')
    write('app.yml', BASE)
    write('bare.yml', '[]\n')
    const refused = async (...args: string[]) => { const { code, err } = await lab.run(['run', 'Hi', ...args], env(server)); return [code, err] }
    expect(await refused('--app', 'app.yml', '--base-url', server.url)).toEqual([2, 'headrace: where models are is said in the file of --app; leave --base-url out\n'])
    expect(await refused('--app', 'app.yml', '--model', 'lba/one')).toEqual([2, expect.stringMatching(/^headrace: the app has no provider "lba"; did you mean "lab"\?; it has .*lab/)])
    expect(await refused('--app', 'bare.yml')).toEqual([1, 'headrace: the app of bare.yml has no agents; give it the entry @headrace/agent\n'])
    expect(await refused('--app', 'none.yml')).toEqual([1, 'headrace: none.yml:1:1: there is no such file\n'])
    const { out } = await lab.run(['run', 'Hi', '--app', 'none.yml', '--json'], env(server))
    expect(lines(out)).toEqual([{ type: 'result', reason: 'error', error: { code: 'APP_INVALID', message: 'none.yml:1:1: there is no such file' } }])
  })

  it('counts what it costs by the prices in the file', async () => {
    const server = await lab.serve(() => ({ text: 'ok', usage: { input: 10_000, cached: 0, output: 1_000 } }))
    const models = '{ lab/one: { context: 32768, rates: { input: 1, output: 2 } } }'
    write('app.yml', BASE.replace("'@headrace/agent'\n", `'@headrace/agent'\n  config: { models: ${models} }\n`))
    expect((await lab.run(['run', 'Hi', '--app', 'app.yml'], env(server))).err).toContain(' · $0.0120 · ')
    const { out } = await lab.run(['run', 'Hi', '--app', 'app.yml', '--json', '--model', 'lab/two'], env(server))
    expect(lines(out).at(-1)).not.toHaveProperty('cost')
    write('app.yml', `- name: headrace\n  config: { model: lab/one, providers: { lab: { baseURL: "\${LAB_URL}" } }, agent: { models: ${models} } }\n`)
    expect(lines((await lab.run(['run', 'Hi', '--app', 'app.yml', '--json'], env(server))).out).at(-1)).toMatchObject({ cost: 0.012 })
  })
})

describe('headrace plugins', () => {
  interface Row {
    readonly id: string
    readonly bytes: number
    readonly registered: readonly { readonly what: string; readonly key?: string }[]
    readonly costs: readonly { readonly kind: string; readonly owner: string; readonly name?: string }[]
  }

  async function rows(args: readonly string[] = [], options?: StartOptions): Promise<ReadonlyMap<string, Row>> {
    const { code, out, err } = await lab.run(['plugins', '--json', ...args], options)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    return new Map(lines(out).map((row) => [row.id as string, row as unknown as Row]))
  }

  it('of the usual set: what each brings and costs; nothing is sent and nothing kept', async () => {
    write('AGENTS.md', 'Be kind to the tests.')
    const all = await rows()
    expect([...all.keys()]).toEqual(['headrace', 'agent', 'briefing', 'models', 'store-jsonl', 'workspace-tools', 'approval', 'agents-md', 'skills', 'environment', 'retry', 'compaction'])
    expect(all.get('agent')!.registered.filter(({ what }) => what === 'provide').map(({ key }) => key).sort()).toEqual(['agents', 'llm', 'sessions', 'system', 'tools'])
    expect(all.get('workspace-tools')!.costs.map(({ kind, name }) => `${kind} ${name}`)).toEqual(['background', 'bash', 'edit', 'glob', 'grep', 'list', 'read', 'write'].map((name) => `tool ${name}`))
    expect(all.get('agents-md')!.costs).toMatchObject([{ kind: 'history', owner: 'agents-md/project' }])
    expect(all.get('headrace')!.costs).toMatchObject([{ kind: 'system', owner: 'headrace/instructions' }])
    expect(all.get('retry')!).toMatchObject({ bytes: 0, registered: [{ what: 'on', key: 'agent/request-error' }] })
    expect(() => lab.files()).toThrow()
  })

  it('of an app: by entry, a plugin of one\'s own with a section, a topic and an after included', async () => {
    write('mine.mjs', `export const name = 'mine'
export const inject = ['agents', 'briefing', 'system']
export async function apply(ctx) {
  ctx.system.section({ key: 'tone', content: 'Be brief.' })
  ctx.briefing.topic({ key: 'runbook', content: () => 'Turn it off and on.' })
  ctx.agents.after({ key: 'day', content: () => 'Today is a day.' })
  ctx.agents.prefix({ key: 'oath', content: () => 'I swear.' })
  ctx.on('agent/request', async (agent, turn, step, config, next) => ({ ...await next(), temperature: 0 }))
  ctx.provide('mine', {})
}
`)
    const server = await lab.serve(() => 'ok')
    write('app.yml', `${BASE}- id: my-own\n  name: ./mine.mjs\n- id: who\n  name: headrace/instructions\n`)
    const all = await rows(['--app', 'app.yml'], env(server))
    expect([...all.keys()]).toEqual(['agent', 'briefing', 'models', 'store', 'model', 'my-own', 'who'])
    expect(all.get('my-own')!.costs.map(({ kind, owner }) => `${kind} ${owner}`)).toEqual(['system mine/tone', 'prefix mine/oath', 'history mine/runbook', 'after mine/day'])
    // Both sign as headrace: the section is of the entry that made it.
    expect([all.get('model')!.costs, all.get('who')!.costs.map(({ owner }) => owner)]).toEqual([[], ['headrace/instructions']])
    const { out: text } = await lab.run(['plugins', '--app', 'app.yml'], env(server))
    expect(text).toMatch(/^my-own +~\d+ +\d+ B +sections tone ~\d+; topics runbook ~\d+; after day ~\d+; listens agent\/request, agent\/request-messages, agent\/session-prefix; prefix oath ~\d+; services mine$/m)
    expect(text).toMatch(/a first request: ~\d+ tokens of theirs; ~[1-9]\d* of them last, paid again on every request/)
    expect(server.requests).toEqual([])
  })

  it('of an app with a listener of an event that there is none of: says so, and what was meant', async () => {
    write('guard.mjs', `export const name = 'guard'\nexport async function apply(ctx) { ctx.on('tools/pre-exec', async () => ({ deny: 'no' })) }\n`)
    const server = await lab.serve(() => 'ok')
    write('app.yml', `${BASE}- name: ./guard.mjs\n`)
    const { code, out, err } = await lab.run(['plugins', '--app', 'app.yml'], env(server))
    expect({ code, err }).toEqual({ code: 0, err: 'headrace: warning: plugin guard in tools/pre-exec: there is no such event, so it is never called; did you mean "tools/pre-execute"?\n' })
    expect(out).toMatch(/^\.\/guard\.mjs .*listens tools\/pre-exec$/m)
  })
})

it('what the app\'s folder does not have comes with the command; what it has wins', async () => {
  const server = await lab.serve(() => 'ok')
  mkdirSync(join(lab.cwd, 'node_modules', '@headrace'), { recursive: true })
  symlinkSync(fileURLToPath(new URL('../../../plugins/retry', import.meta.url)), join(lab.cwd, 'node_modules', '@headrace', 'plugin-retry'), 'dir')
  write('app.yml', `${BASE}- name: '@headrace/plugin-retry'\n`)
  expect(await lab.run(['run', 'Hi', '--app', 'app.yml'], env(server))).toMatchObject({ code: 0, out: 'ok\n' })
})

it('the README\'s app boots as it stands, with the README\'s plugin beside it', async () => {
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
  const block = (section: string): string => /```\w+\n([^]*?)```/.exec(readme.slice(readme.indexOf(`## ${section}`)))![1]!
  write('cordis.yml', block('From a YAML file'))
  write('clock.mjs', block('A plugin in six lines').replace(/^import type .*\n/, '').replace('ctx: Context', 'ctx'))
  const { code, out } = await lab.run(['plugins', '--app', 'cordis.yml'])
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^clock .*after day ~\d+; listens agent\/request-messages$/m) as string })
})
