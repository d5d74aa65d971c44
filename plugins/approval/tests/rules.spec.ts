import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import * as approval from '@headrace/plugin-approval'
import { type Harness, harness } from '@headrace/testing'
import { until } from '@headrace/testing/gate'
import { removeFolder } from '@headrace/testing/folder'

function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'headrace-approval-')))
  onTestFinished(() => removeFolder(path))
  return path
}

type Called = readonly [tool: string, input: string]
type Given = Parameters<typeof approval.apply>[1]

interface Judged extends Harness {
  readonly ran: readonly string[]
  readonly cwd: string
}

/** An app with tools as the usual ones, where somebody can be asked; the model makes these calls, a step each; a text ends a turn. */
async function app(config: NonNullable<Given>, calls: readonly (Called | string)[], cwd = folder()): Promise<Judged> {
  const state = `${cwd}-state`
  vi.stubEnv('XDG_STATE_HOME', state)
  onTestFinished(() => {
    rmSync(state, { recursive: true, force: true })
    vi.unstubAllEnvs()
  })
  const argument = (tool: string) => (tool === 'bash' ? 'command' : 'path')
  const made = await harness({
    script: [...calls.map((call) => (typeof call === 'string' ? call : { calls: [{ name: call[0], arguments: { [argument(call[0])]: call[1] } }] })), 'ok'],
    plugins: [[approval, config]], agent: { cwd },
  })
  onTestFinished(() => made.dispose())
  const ran: string[] = []
  for (const name of ['bash', 'write', 'read', 'other']) {
    made.ctx.tools.define({
      name, description: name, ask: name !== 'read', parameters: { type: 'object' },
      execute: (input) => (ran.push(`${name} ${(input as Record<string, string>)[argument(name)]!}`), 'done'),
    })
  }
  made.ctx.agents.attend()
  return Object.create(made, { ran: { value: ran }, cwd: { value: cwd } }) as Judged
}

/** Runs it; each question is answered so. The events that decided. */
async function run(made: Judged, answer: 'allow' | 'deny' = 'deny', remember?: 'session' | 'folder'): Promise<readonly string[]> {
  const off = made.agent.session.on('event', (event) => {
    if (event.type !== 'question/asked') return
    const option = event.data.options?.find((one) => (one.remember as { scope?: string } | undefined)?.scope === remember)
    void made.agent.answer(event.seq, answer, remember === undefined ? {} : { remember: option!.remember! })
  })
  await made.run('Go.')
  off()
  return [...made.agent.session.events()].flatMap(({ type, data }) =>
    type === 'approval/decided' ? [`${data.decision} ${data.rule}`] : type === 'question/asked' ? ['asked'] : [])
}

describe('a rule', () => {
  it.each([
    ['bash(npm test *)', 'bash', 'npm test -- --run "a b"'],
    ['bash(npm test)', 'bash', 'npm  test'],
    ['bash(git commit -m "x y")', 'bash', 'git commit -m \'x y\''],
    ['bash(*)', 'bash', 'ls -la'],
    ['bash', 'bash', 'a; b'],
    ['write(src/**)', 'write', 'src/a/b.ts'],
    ['write(*.md)', 'write', './x/../README.md'],
    ['write', 'write', '/anywhere'],
    ['oth*', 'other', 'x'],
  ])('%s allows %s of %s, and the log names it', async (rule, tool, input) => {
    const made = await app({ allow: [rule] }, [[tool, input]])
    expect(await run(made)).toEqual([`allow approval/${rule}`])
    expect(made.ran).toHaveLength(1)
  })

  it('that denies beats one that asks, which beats one that allows; both hold for tools that ask nothing', async () => {
    const made = await app({ allow: ['bash(*)', 'write(**)'], ask: ['bash(git push *)', 'read(secret/**)'], deny: ['bash(rm *)', 'read(.env)'] }, [
      ['bash', 'git push origin'], ['bash', 'git status'], ['bash', 'rm x'], ['bash', 'true && /bin/rm -rf x'], ['bash', 'echo "$(rm x)"'],
      ['read', '.env'], ['read', 'secret/key'], ['read', 'a'],
    ])
    expect(await run(made)).toEqual([
      'ask approval/bash(git push *)', 'asked', 'allow approval/bash(*)', 'deny approval/bash(rm *)', 'deny approval/bash(rm *)', 'deny approval/bash(rm *)',
      'deny approval/read(.env)', 'ask approval/read(secret/**)', 'asked',
    ])
    expect(made.ran).toEqual(['bash git status', 'read a'])
  })

  it.each([
    ['bash(npm test', 'write a tool'], ['bash()', 'one simple command'], ['bash(npm*)', 'one simple command'], ['bash(a; b)', 'one simple command'],
    ['bash(A=1 x)', 'one simple command'], ['bash(a > b)', 'one simple command'], ['write()', 'glob'], ['write(../x)', 'glob'], ['write(a[b)', 'brackets'],
    ['other(x)', 'name it in commands or paths'], ['mcp*(x)', 'tool by tool'], ['rm -rf', 'write a tool'], ['', 'write a tool'],
  ])('that cannot be one is refused at load: %s', async (rule, problem) => {
    for (const kind of ['allow', 'ask', 'deny']) await expect(app({ [kind]: [rule] }, [])).rejects.toThrow(problem)
  })

  it('of a path judges where it leads, again before the call runs', async () => {
    const cwd = folder()
    mkdirSync(join(cwd, 'src'))
    mkdirSync(join(cwd, 'other'))
    symlinkSync(join(cwd, 'other'), join(cwd, 'src/link'))
    symlinkSync(join(cwd, 'nowhere'), join(cwd, 'src/dangling'))
    symlinkSync(tmpdir(), join(cwd, 'src/out'))
    const made = await app({ allow: ['write(src/**)'] }, [
      ['write', 'src/link/a'], ['write', 'src/dangling'], ['write', 'src/out/a'], ['write', 'src/../b'], ['write', '/etc/passwd'], ['write', 'src/new'],
    ], cwd)
    expect(await run(made)).toEqual(['asked', 'asked', 'asked', 'asked', 'asked', 'allow approval/write(src/**)'])
    expect(made.ran).toEqual(['write src/new'])
  })

  it('that allowed a path does not hold once another call made it lead elsewhere', async () => {
    const cwd = folder()
    mkdirSync(join(cwd, 'src'))
    const made = await harness({
      script: [{ calls: [{ name: 'link' }, { name: 'write', arguments: { path: 'src/a' } }] }, 'ok'], plugins: [[approval, { allow: ['write(src/**)'] }]], agent: { cwd },
    })
    onTestFinished(() => made.dispose())
    const ran: string[] = []
    made.ctx.tools.define({ name: 'link', description: 'l', sequential: true, parameters: { type: 'object' }, execute: () => { symlinkSync(join(cwd, 'b'), join(cwd, 'src/a')); return 'linked' } })
    made.ctx.tools.define({ name: 'write', description: 'w', sequential: true, ask: true, parameters: { type: 'object' }, execute: () => ran.push('write') })
    await made.run('Go.')
    expect(ran).toEqual([])
  })
})

describe('a remembered answer', () => {
  it('for the session holds for the same command, in the next life too; not in a fork', async () => {
    const made = await app({}, [['bash', 'npm test'], ['bash', 'npm test'], ['bash', 'npm test x']])
    const decided = run(made, 'allow', 'session')
    expect(await decided).toEqual(['asked', 'allow approval/bash(npm test), remembered for the session', 'asked'])
    const fork = await made.ctx.agents.fork(made.agent.id)
    expect(fork.remembered).toEqual([])
    await fork.dispose()
  })

  it('for the session holds for those who do a part of its work in its folder, and the log says whose it is; for no other', async () => {
    const call = ['bash', 'npm test'] as const
    const made = await app({}, [call, 'ok', call, 'ok', call, 'ok', call, 'ok', call])
    await run(made, 'allow', 'session')
    const { agent, ctx } = made
    const assistant = [...agent.session.events()].find(({ type }) => type === 'assistant/message')!.seq
    type Decided = readonly [child: typeof agent, decided: readonly string[]]
    const decidedIn = async (parent: typeof agent, { cwd = made.cwd, named = true } = {}): Promise<Decided> => {
      const child = await ctx.agents.create({ cwd, model: 'scripted/model', under: { session: parent.id, call: { assistant, index: 0 } } })
      if (named) parent.session.append({ type: 'agent/child', data: { assistant, index: 0, session: child.id } })
      child.session.on('event', ({ seq, type }) => void (type === 'question/asked' && void child.answer(seq, 'deny')))
      await child.prompt('Go.').result
      const decided = [...child.session.events()].flatMap(({ type, data }) => (type === 'approval/decided' ? [data.rule] : type === 'question/asked' ? ['asked'] : []))
      return [child, decided]
    }
    const [child, decided] = await decidedIn(agent)
    expect(decided).toEqual(['approval/bash(npm test), remembered for the session test'])
    expect((await decidedIn(child))[1]).toEqual(decided)
    expect((await decidedIn(agent, { cwd: folder() }))[1]).toEqual(['asked'])
    // Any log may say that it stands under another.
    expect((await decidedIn(agent, { named: false }))[1]).toEqual(['asked'])
  })

  it('does not hold where the session goes on in another folder', async () => {
    const made = await app({}, [['bash', 'npm test'], 'ok', ['bash', 'npm test']])
    await run(made, 'allow', 'session')
    const elsewhere = await app({}, [['bash', 'npm test']])
    const agent = await made.resume({ cwd: elsewhere.cwd })
    const asked: number[] = []
    agent.session.on('event', (event) => {
      if (event.type !== 'question/asked') return
      asked.push(event.seq)
      void agent.answer(event.seq, 'deny')
    })
    await agent.prompt('Again.').result
    expect(asked).toHaveLength(1)
  })

  it('for the folder holds for the very next call', async () => {
    const made = await app({}, [['bash', 'npm test'], ['bash', 'npm test']])
    expect(await run(made, 'allow', 'folder')).toEqual(['asked', 'allow approval/bash(npm test), remembered for the folder'])
  })

  it('for the folder is kept in the state directory by real path, never in the workspace, and holds in other sessions there', async () => {
    const made = await app({}, [['write', 'a[1].txt']])
    await run(made, 'allow', 'folder')
    const state = join(process.env.XDG_STATE_HOME!, 'headrace/approvals')
    const file = await until(() => readdirSync(state).find((name) => name.endsWith('.json')))
    expect(JSON.parse(readFileSync(join(state, file), 'utf8'))).toEqual({ folder: made.cwd, rules: ['write(a\\[1\\].txt)'] })
    expect(readdirSync(made.cwd)).toEqual([])
    const next = await app({}, [['write', 'a[1].txt'], ['write', 'a1.txt']], made.cwd)
    expect(await run(next)).toEqual(['allow approval/write(a\\[1\\].txt), remembered for the folder', 'asked'])
    const elsewhere = await app({}, [['write', 'a[1].txt']])
    expect(await run(elsewhere)).toEqual(['asked'])
  })

  it('what others can write, or what is of another folder, counts for nothing: the call is denied and it is reported', async () => {
    const made = await app({}, [['write', 'a.txt']])
    await run(made, 'allow', 'folder')
    const state = join(process.env.XDG_STATE_HOME!, 'headrace/approvals')
    const file = await until(() => readdirSync(state).find((name) => name.endsWith('.json')))
    writeFileSync(join(state, file), JSON.stringify({ folder: '/', rules: ['write'] }))
    const next = await app({}, [['write', 'b.txt']], made.cwd)
    await next.run('Go.')
    expect(next.reports).toMatchObject([{ plugin: 'approval' }])
    expect(next.ran).toEqual([])
  })

  it('is not offered for what is compound, for what a rule asks for, or for the folder of the state itself', async () => {
    const offered = async (made: Judged): Promise<number> => {
      await run(made)
      return [...made.agent.session.events()].flatMap((event) => (event.type === 'question/asked' ? event.data.options ?? [] : [])).filter(({ remember }) => remember !== undefined).length
    }
    expect(await offered(await app({}, [['bash', 'a && b']]))).toBe(0)
    expect(await offered(await app({ ask: ['bash(a)'] }, [['bash', 'a']]))).toBe(0)
    expect(await offered(await app({ remember: false }, [['bash', 'a']]))).toBe(0)
    const inside = await app({}, [['bash', 'a']])
    vi.stubEnv('XDG_STATE_HOME', join(inside.cwd, 'state'))
    expect(await offered(inside)).toBe(1)
  })
})
