import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { steps } from '@headrace/model-server'
import { Lab } from '../../packages/headrace/tests/command.ts'

interface Explained {
  readonly rebuilds: boolean
  readonly config: readonly { readonly field: string; readonly owner: string }[]
  readonly system: readonly { readonly owner: string }[]
  readonly tools: readonly { readonly name: string; readonly owner: string }[]
  readonly messages: readonly { readonly owner: string; readonly role: string; readonly segment: string; readonly text: string }[]
  readonly changes: readonly { readonly reason: string }[]
  readonly drift: readonly { readonly field: string; readonly item?: string; readonly owner: string; readonly change: string }[]
  readonly cached?: { readonly newFrom?: string }
}

const SKILLS = Array.from({ length: 30 }, (_, index) => `task-${String(index).padStart(2, '0')}`)
const TOOLS = ['background', 'bash', 'edit', 'glob', 'grep', 'list', 'read', 'write']

let lab: Lab
let app: string
beforeEach(() => {
  lab = new Lab()
  app = join(lab.cwd, 'app')
  write('AGENTS.md', 'Small commits.\n')
  write('app/AGENTS.md', 'Use tabs.\n')
  write('app/src/http/AGENTS.md', 'Every route has a test.\n')
  write('app/src/http/route.ts', 'export const route = 1\n')
  for (const name of SKILLS) write(`.agents/skills/${name}/SKILL.md`, `---\nname: ${name}\ndescription: Does ${name}.\n---\n\nDo it.\n`)
  git('init', '--quiet', '--initial-branch', 'main')
  git('add', '.')
  git('commit', '--quiet', '--message', 'All')
  write('app/src/http/route.ts', 'export const route = 2\n')
  write('app/src/new.ts', 'export const fresh = true\n')
})
afterEach(() => lab.close())

function write(path: string, text: string): void {
  mkdirSync(dirname(join(lab.cwd, path)), { recursive: true })
  writeFileSync(join(lab.cwd, path), text)
}

function git(...args: readonly string[]): string {
  const who = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null', GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' }
  return execFileSync('git', args, { cwd: lab.cwd, encoding: 'utf8', env: { ...process.env, ...who } })
}

const explain = async (request: string): Promise<Explained> => JSON.parse((await lab.run(['explain', 's', request, '--json', '--full'], { cwd: app })).out) as Explained
const serve = (): ReturnType<Lab['serve']> => lab.serve(steps([{ toolCalls: [{ name: 'read', arguments: { path: 'src/http/route.ts' } }] }, 'It says 2.']))
const owners = ({ messages }: Explained): readonly string[] => messages.map(({ owner }) => owner)
const told = (explained: Explained, owner: string): readonly string[] =>
  explained.messages.filter((message) => message.owner === owner).map((message) => JSON.stringify(message))

describe('headrace run in a git repository with nested AGENTS.md, thirty skills and a dirty tree', () => {
  it('explain names the owner of every message, section, tool and field; nobody is unknown', async () => {
    expect(git('status', '--porcelain')).toBe(' M app/src/http/route.ts\n?? app/src/new.ts\n')
    const server = await serve()
    expect((await lab.prompt(server, ['What', 'is', 'it?', '--session', 's'], { cwd: app })).code).toBe(0)
    const explained = await explain('1.2')
    expect(explained.rebuilds).toBe(true)
    expect(owners(explained)).toEqual(['agents-md/project', 'skills/catalogue', 'environment/environment', 'user', 'model', 'tool', 'agents-md/app/src/http/'])
    expect(explained.system.map(({ owner }) => owner)).toEqual(['headrace/instructions'])
    expect(explained.tools.map(({ owner }) => owner)).toEqual([...TOOLS.map((name) => `workspace-tools/${name}`), 'skills/skill'].sort(byTool))
    expect(new Set(explained.config.map(({ owner }) => owner))).toEqual(new Set(['app']))
    const [project, catalogue, environment] = explained.messages.map((message) => JSON.stringify(message))
    expect(project!.indexOf('Small commits.')).toBeGreaterThan(0)
    expect(project!.indexOf('Use tabs.')).toBeGreaterThan(project!.indexOf('Small commits.'))
    for (const name of SKILLS) expect(catalogue).toContain(`- ${name}: Does ${name}.`)
    expect(environment).toContain(`- git branch: main\\n- git head: ${git('rev-parse', 'HEAD').slice(0, 12)}`)
    expect(told(explained, 'agents-md/app/src/http/').join()).toContain('Every route has a test.')
  })

  it('a second run tells an edited AGENTS.md once, behind all that was sent, and explain shows what drifted by field and owner', async () => {
    const server = await serve()
    await lab.prompt(server, ['What is it?', '--session', 's'], { cwd: app })
    const before = await explain('1.2')
    write('app/AGENTS.md', 'Use spaces.\n')
    const { code } = await lab.run(['run', '--continue', 'And now?', '--model', 'other', '--base-url', server.url], { cwd: app })
    expect(code).toBe(0)
    const [first, last] = [await explain('2.1'), await explain('2.2')]
    expect(first.changes.map(({ reason }) => reason)).toEqual(['resume'])
    expect(first.drift).toEqual([{ field: 'config', item: 'model', owner: 'app', change: 'changed' }])
    // The answer of the first run, then what is new.
    expect(owners(first).slice(before.messages.length)).toEqual(['model', 'agents-md/project', 'user'])
    expect(first.cached!.newFrom).toBe(`message ${before.messages.length + 1}`)
    expect(told(last, 'agents-md/project')).toHaveLength(2)
    expect(told(last, 'agents-md/project')[1]).toMatch(/This replaces the instructions .*Use spaces\./)
    expect(owners(last).filter((owner) => owner.includes('/'))).toEqual(['agents-md/project', 'skills/catalogue', 'environment/environment', 'agents-md/app/src/http/', 'agents-md/project'])
    expect(last.drift).toEqual([])
    expect((await lab.run(['verify', 's'], { cwd: app })).out).toMatch(/^ok: 4 requests of \d+ events rebuild byte for byte \(session s\)\n$/)
  })
})

/** The order of tools: by name. */
function byTool(a: string, b: string): number {
  const [one, other] = [a, b].map((owner) => owner.split('/')[1]!)
  return one! < other! ? -1 : 1
}
