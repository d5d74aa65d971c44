import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeFiles } from '@headrace/files'
import type { Context } from 'cordis'
import { stopClock } from '@headrace/testing/clock'
import { gate } from '@headrace/testing/gate'
import { describe, expect, it } from 'vitest'
import * as subagent from '../src/index.ts'
import { AgentLibrary } from '../src/library.ts'
import { type Answers, childrenOf, expectSound, folder, logOf, resultsIn, setup, task, tools } from './kit.ts'

/** The agent gives each prompt `a, b` to a subagent a word, and says what came back; a subagent says its word. */
const relay: Answers = ({ prompt, answered, child }) => {
  if (child) return `done: ${prompt}`
  return answered === 0 ? { calls: prompt.split(', ').map((word) => task(word)) } : 'ok'
}

/** A person sits there, and a tool asks; `asked` gets the call that allows it. */
const doorOf = (asked: (allow: () => void) => void) => ({
  name: 'door', inject: ['agents', 'tools'],
  apply: async (ctx: Context) => {
    ctx.agents.attend()
    ctx.tools.define({ name: 'risky', description: '', parameters: { type: 'object' }, ask: () => 'Do it?', execute: () => 'did it' })
    ctx.on('session/event', (agent, event) => {
      if (event.type === 'question/asked') asked(() => void agent.answer(event.seq, 'allow'))
    })
  },
})

describe('the tool subagent', () => {
  it('runs a child in a session of its own, under the call, and gives its last message', async () => {
    const h = await setup(relay, { agent: { cwd: folder() }, plugins: [tools({ look: () => 'seen' })] })
    await h.run('count')
    const [id] = await childrenOf(h.store)
    expect(await resultsIn(h.store, 'test')).toEqual([{ text: `done: count\n\n[subagent session ${id}]`, error: false, outcome: 'done' }])
    const log = await logOf(h.store, id!)
    const answer = h.agent.session.entries().find(({ owner }) => owner === 'model')!
    expect(log[0]!.data).toMatchObject({
      under: { session: 'test', call: { assistant: Number(answer.id), index: 0 } }, kind: 'subagent', cwd: h.agent.cwd,
      tools: { only: ['look'] }, config: { model: 'scripted/model' }, limits: { steps: 50, requests: 100 },
    })
    expect(log.find(({ type }) => type === 'user/message')!.data).toMatchObject({ owner: 'subagent/prompt' })
    expect(h.requests[1]!.tools!.map(({ name }) => name)).toEqual(['look'])
    expect([...h.agent.session.events()].find(({ type }) => type === 'agent/child')?.data).toMatchObject({ session: id, index: 0 })
    await expectSound(h.store)
    await h.dispose()
  })

  it('tells people and programs how far it is, and what it cost, its own subagents with it', async () => {
    const answers: Answers = ({ prompt, answered, request }) => {
      const usage = { input: 10, output: 1 }
      const mayCall = answered === 0 && prompt !== 'leaf' && request.tools?.some(({ name }) => name === 'subagent')
      return mayCall ? { calls: [task(prompt === 'Go' ? 'branch' : 'leaf')], usage } : { text: 'ok', usage }
    }
    const settings = { models: { 'scripted/model': { context: 100_000, rates: { input: 100, cached: 1, output: 1_000 } } } }
    const h = await setup(answers, { settings }, { depth: 2 })
    const { cost } = await h.run('Go')
    const result = [...h.agent.session.events()].find((event) => event.type === 'tool/result')!.data
    const [id] = await childrenOf(h.store)
    expect(result).toMatchObject({
      details: { kind: 'subagent', session: id, model: 'scripted/model', reason: 'done', steps: 2, usage: { input: 30, output: 3 }, cost: 0.006 },
      progress: { session: id, step: 2, tool: 'subagent' },
    })
    // Each of the five requests once.
    expect(cost).toBe(0.01)
    await expectSound(h.store)
    await h.dispose()
  })

  it('runs several calls of one answer at once, and their results stand in order', async () => {
    const [both, waiting] = [gate(), new Set<string>()]
    const h = await setup(async (asked) => {
      if (asked.child) {
        waiting.add(asked.prompt)
        if (waiting.size === 2) both.open()
        await both.promise
      }
      return relay(asked)
    })
    await h.run('one, two')
    const ids = await childrenOf(h.store)
    expect((await resultsIn(h.store, 'test')).map(({ text }) => text)).toEqual(['one', 'two'].map((word, index) => expect.stringContaining(`done: ${word}\n\n[subagent session ${ids[index]}]`)))
    await expectSound(h.store)
    await h.dispose()
  })

  it('runs so many at once as the config says; a place is handed on', async () => {
    let running = 0
    let most = 0
    const h = await setup(async (asked) => {
      if (asked.child) {
        most = Math.max(most, ++running)
        await Promise.resolve()
        running--
      }
      return relay(asked)
    }, {}, { atOnce: 1 })
    await h.run('a, b, c')
    expect(most).toBe(1)
    expect(await resultsIn(h.store, 'test')).toHaveLength(3)
    await h.dispose()
  })

  it.each([
    ['no prompt', task(' '), /There is no prompt/],
    ['an agent that there is not', task('x', { agent: 'nobody' }), /There is no subagent "nobody"\. There are none with a name/],
    ['a session that is none of its own', task('x', { session: 'other' }), /There is no subagent "other" of this session/],
    ['a session that stands under nothing', task('x', { session: 'test' }), /The subagent test is running|There is no subagent "test"/],
  ] as const)('refuses %s in words', async (_, call, said) => {
    const h = await setup(({ answered }) => (answered === 0 ? { calls: [call] } : 'ok'), { agent: { cwd: folder() } })
    await h.run('Go')
    expect(await resultsIn(h.store, 'test')).toEqual([{ text: expect.stringMatching(said) as string, error: true, outcome: 'error' }])
    expect(await childrenOf(h.store)).toEqual([])
    await h.dispose()
  })

  it('a subagent has none of its own, unless the config says how deep; and so many calls a turn', async () => {
    const nest: Answers = ({ prompt, answered, request }) => (answered === 0 && request.tools?.some(({ name }) => name === 'subagent') ? { calls: [task(`${prompt}!`), task(`${prompt}?`)] } : `${prompt} is done`)
    const h = await setup(nest, {}, { depth: 2, perTurn: 1 })
    await h.run('a')
    const [child] = await childrenOf(h.store)
    const [grandchild] = await childrenOf(h.store, child)
    expect(await childrenOf(h.store, grandchild)).toEqual([])
    expect((await resultsIn(h.store, child!)).map(({ text }) => text)).toEqual([expect.stringContaining('a!! is done'), expect.stringContaining('This turn has had 1 subagents')])
    await expectSound(h.store)
    await h.dispose()
  })
})

describe('what bounds a subagent', () => {
  it('never has more tools than its agent: names of a file count in any case, and only those that the agent has', async () => {
    const file = '---\nname: reader\ndescription: Reads.\ntools: Look, Write, Bash(git:*), Nothing\ndisallowedTools: bash\n---\nRead only.\n'
    const h = await setup(({ answered, child }) => (child || answered > 0 ? 'ok' : { calls: [task('x', { agent: 'reader' }), task('y')] }), {
      agent: { cwd: folder({ '.claude/agents/reader.md': file }), tools: { without: ['write'] } },
      plugins: [tools({ look: () => '', write: () => '', bash: () => '' })],
    })
    await h.run('Go')
    const chosen = await Promise.all((await childrenOf(h.store)).map(async (id) => (await h.store.card(id)).open!.tools))
    expect(chosen).toEqual([{ only: ['look'] }, { only: ['bash', 'look'] }])
    await h.dispose()
  })

  it('has the smaller limit of config, file and agent; reached, the result says so, and names the session', async () => {
    const endless: Answers = ({ answered, child }) => (child ? { text: `step ${answered}`, calls: [{ name: 'look' }] } : answered === 0 ? { calls: [task('x', { agent: 'short' })] } : 'ok')
    const h = await setup(endless, {
      agent: { cwd: folder({ '.headrace/agents/short.md': '---\ndescription: Short.\nmaxTurns: 2\n---\n' }), limits: { steps: 5 } },
      plugins: [tools({ look: () => 'seen' })],
    }, { limits: { steps: 3 } })
    await h.run('Go')
    const [id] = await childrenOf(h.store)
    expect((await h.store.card(id!)).open!.limits).toMatchObject({ steps: 2 })
    const [result] = await resultsIn(h.store, 'test')
    expect(result).toMatchObject({ error: true, text: expect.stringMatching(/^The subagent reached a limit: .*limit of 2 steps[^]*It said last:\n\nstep 1[^]*session .* give this session/) as string })
    await expectSound(h.store)
    await h.dispose()
  })

  it('its questions stand in its own log, and whoever sits there answers them', async () => {
    const door = doorOf((answer) => answer())
    const h = await setup(({ answered, child }) => (child ? answered === 0 ? { calls: [{ name: 'risky' }] } : 'did it' : answered === 0 ? { calls: [task('x')] } : 'ok'), { plugins: [door as never] })
    await h.run('Go')
    const [id] = await childrenOf(h.store)
    expect((await logOf(h.store, id!)).filter(({ type }) => type.startsWith('question/'))).toMatchObject([{ data: { question: 'Do it?' } }, { data: { answer: 'allow' } }])
    expect([...h.agent.session.events()].some(({ type }) => type.startsWith('question/'))).toBe(false)
    expect(await resultsIn(h.store, id!)).toMatchObject([{ outcome: 'done', text: 'did it' }])
    await expectSound(h.store)
    await h.dispose()
  })

  it('while it asks a person, time stands still for it, for its call and for its agent\'s turn', async () => {
    const asked = gate<() => void>()
    const door = doorOf((answer) => asked.open(answer))
    const h = await setup(({ answered, child }) => (child ? answered === 0 ? { calls: [{ name: 'risky' }] } : 'did it' : answered === 0 ? { calls: [task('x')] } : 'ok'), {
      plugins: [door as never], agent: { limits: { time: 60_000 } },
    }, { timeout: 60_000 })
    const clock = stopClock()
    const turn = h.agent.prompt('Go')
    const answer = await asked.promise
    await clock.pass(600_000)
    answer()
    expect((await turn.result).reason).toBe('done')
    expect(await resultsIn(h.store, 'test')).toMatchObject([{ outcome: 'done', text: expect.stringContaining('did it') as string }])
    await h.dispose()
  })

  it('its permissions are those of a run that nobody sits at: denied, and it is told why', async () => {
    const asker = {
      name: 'asker', inject: ['tools'],
      apply: async (ctx: Context) => void ctx.tools.define({ name: 'risky', description: '', parameters: { type: 'object' }, ask: true, execute: () => 'did it' }),
    }
    const h = await setup(({ answered, child }) => (child ? answered === 0 ? { calls: [{ name: 'risky' }] } : 'was denied' : answered === 0 ? { calls: [task('x')] } : 'ok'), { plugins: [asker as never] })
    await h.run('Go')
    const [id] = await childrenOf(h.store)
    expect(await resultsIn(h.store, id!)).toMatchObject([{ outcome: 'denied' }])
    expect([...h.agent.session.events()].find((event) => event.type === 'tool/result')?.data).toMatchObject({ details: { denied: 1 } })
    await h.dispose()
  })
})

describe('an agent that a file defines', () => {
  const file = (name: string, more = '') => `---\nname: ${name}\ndescription: Does ${name}.\n${more}---\n\nYou do ${name}.\n`

  it('is told to the model by name, and tells the subagent what its file says, ahead of its task', async () => {
    const cwd = folder({ '.headrace/agents/reviewer.md': file('reviewer'), '.claude/agents/tester.md': file('tester'), '.claude/agents/reviewer.md': file('reviewer'), '.claude/agents/broken.md': 'no' })
    const h = await setup(({ answered, child }) => (child || answered > 0 ? 'ok' : { calls: [task('x', { agent: 'reviewer', title: 'A review' })] }), { agent: { cwd } })
    await h.run('Go')
    expect(JSON.stringify(h.requests[0]!.messages)).toContain('- reviewer: Does reviewer.\\n- tester: Does tester.')
    const [opener] = h.requests[1]!.messages
    expect(JSON.stringify(opener)).toMatch(/You are a subagent: .*You do reviewer\./)
    // It has no such tool, so no list either.
    expect(JSON.stringify(h.requests[1]!.messages)).not.toContain('available_subagents')
    const [id] = await childrenOf(h.store)
    expect(await h.store.card(id!)).toMatchObject({ title: 'A review' })
    await h.dispose()
  })

  it('may stand in a folder of its root, four deep: those nearer to the root come first, hidden ones do not count, and links may lead in a circle', async () => {
    const cwd = folder({
      '.claude/agents/team/reviewer.md': file('reviewer'), '.claude/agents/a/b/c/deep.md': file('deep'), '.claude/agents/a/b/c/d/deeper.md': file('deeper'),
      '.claude/agents/tester.md': file('tester'), '.claude/agents/team/tester.md': file('tester', 'model: other/x\n'),
      '.claude/agents/.git/hidden.md': file('hidden'), '.claude/agents/node_modules/x/theirs.md': file('theirs'), 'shared/linked.md': file('linked'),
    })
    symlinkSync('../../shared', join(cwd, '.claude/agents/shared'))
    symlinkSync('..', join(cwd, '.claude/agents/a/up'))
    const library = new AgentLibrary(subagent.Config({ user: false }), nodeFiles)
    const { byName, problems } = await library.look({ cwd })
    expect([...byName.keys()]).toEqual(['deep', 'linked', 'reviewer', 'tester'])
    expect(byName.get('tester')!.model).toBeUndefined()
    expect(problems).toEqual([{ file: join(cwd, '.claude/agents/team/tester.md'), problem: expect.stringContaining('has its name') as string }])
    expect((await library.look({ cwd })).byName).toBe(byName)
    // What comes into a folder is there at the next look.
    writeFileSync(join(cwd, '.claude/agents/team/late.md'), file('late'))
    expect([...(await library.look({ cwd })).byName.keys()]).toContain('late')
  })

  it('is driven with the model of its file, by its whole or its short name; else as its agent is', async () => {
    const cwd = folder({ '.headrace/agents/a.md': file('a', 'model: scripted/other\n'), '.headrace/agents/b.md': file('b', 'model: small\n'), '.headrace/agents/c.md': file('c', 'model: unheard\n') })
    const h = await setup(({ answered, child }) => (child || answered > 0 ? 'ok' : { calls: ['a', 'b', 'c'].map((agent) => task('x', { agent })) }), { agent: { cwd, config: { temperature: 0.5 } } }, { models: { small: 'scripted/tiny' } })
    await h.run('Go')
    const configs = await Promise.all((await childrenOf(h.store)).map(async (id) => (await h.store.card(id)).open!.config))
    expect(configs).toEqual(['scripted/other', 'scripted/tiny', 'scripted/model'].map((model) => ({ model, temperature: 0.5 })))
    await h.dispose()
  })
})

describe('going on with a subagent', () => {
  it('takes its session up with all it remembers, under its first instructions', async () => {
    const answers: Answers = ({ prompt, answered, child, request }) => {
      if (child) return `${prompt} after ${request.messages.filter(({ role }) => role === 'user').length}`
      if (answered > 0) return 'ok'
      const said = /\[subagent session ([\w-]+)\]/.exec(JSON.stringify(request.messages))?.[1]
      return { calls: [task(prompt, said === undefined ? {} : { session: said })] }
    }
    const h = await setup(answers)
    await h.run('one')
    await h.run('two')
    const [id, ...others] = await childrenOf(h.store)
    expect(others).toEqual([])
    expect((await resultsIn(h.store, 'test')).map(({ text }) => text)).toEqual([`one after 1\n\n[subagent session ${id}]`, `two after 2\n\n[subagent session ${id}]`])
    expect([...h.agent.session.events()].filter(({ type }) => type === 'agent/child')).toHaveLength(2)
    await expectSound(h.store)
    await h.dispose()
  })

  it('is refused for what is no subagent of this session, running or not: itself, another agent of the app', async () => {
    const h = await setup(({ answered }) => (answered > 0 ? 'ok' : { calls: ['test', 'other', '../x'].map((session) => task('x', { session })) }))
    const other = await h.ctx.agents.create({ id: 'other', model: 'scripted/model' })
    await h.run('Go')
    expect((await resultsIn(h.store, 'test')).map(({ text }) => text)).toEqual(['test', 'other', '../x'].map((id) => expect.stringContaining(`There is no subagent "${id}"`)))
    await other.dispose()
    await h.dispose()
  })

  it('is refused to a fork: the child is its parent\'s', async () => {
    const answers: Answers = ({ prompt, answered, child, request }) => {
      if (child || answered > 0) return 'ok'
      const said = /\[subagent session ([\w-]+)\]/.exec(JSON.stringify(request.messages))?.[1]
      return { calls: [task(prompt, said === undefined ? {} : { session: said })] }
    }
    const h = await setup(answers)
    await h.run('one')
    const fork = await h.ctx.agents.fork('test', { id: 'fork' })
    await fork.prompt('two').result
    expect((await resultsIn(h.store, 'fork')).at(-1)).toMatchObject({ error: true, text: expect.stringContaining('of this session') as string })
    await fork.dispose()
    await h.dispose()
  })
})
