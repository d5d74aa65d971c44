import { MemoryStore } from '@headrace/session'
import { describe, expect, it } from 'vitest'
import { announced, compactor, result, set, setup } from './kit.ts'

const LIST = 'Your task list, 1 of 3 completed:\n[x] read\n[>] write\n[ ] run'

describe('the tool tasks', () => {
  it('sets the whole list, and its result tells it: nothing is announced beside it', async () => {
    const h = await setup([set('x read', '> write', '  run'), 'ok'])
    await h.run('Go')
    await h.run('On')
    expect(result(h)).toEqual({ text: LIST, error: false })
    expect(announced(h)).toEqual([])
    expect([...h.agent.session.events()].find(({ type }) => type === 'tool/result')?.data).toMatchObject({
      details: { kind: 'plan', entries: [{ content: 'read', status: 'completed' }, { content: 'write', status: 'in_progress' }, { content: 'run', status: 'pending' }] },
    })
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it.each([
    ['too many tasks', set('  a', '  b', '  c'), /3 tasks; it may have 2/],
    ['a long task', set(`  ${'a'.repeat(11)}`), /Task 1 has 11 characters; it may have 10/],
    ['a blank one', set('  ok', '   '), /Task 2 says nothing/],
    ['another state', { calls: [{ name: 'tasks', arguments: { tasks: [{ content: 'a', status: 'done' }] } }] }, /status/],
    ['no list', { calls: [{ name: 'tasks', arguments: {} }] }, /tasks/],
  ] as const)('refuses %s, and the list stays as it was', async (_, call, said) => {
    const compaction = compactor()
    const h = await setup([set('> keep'), call, 'ok'], { plugins: [compaction as never] }, { maxTasks: 2, maxLength: 10 })
    await h.run('Go')
    expect(result(h)).toMatchObject({ text: expect.stringMatching(said) as string, error: true })
    compaction.now = true
    await h.run('On')
    expect(announced(h)).toEqual(['Your task list, 0 of 1 completed:\n[>] keep'])
    await h.dispose()
  })

  it('takes fields that it does not know, and a task of several lines as one', async () => {
    const h = await setup([{ calls: [{ name: 'tasks', arguments: { tasks: [{ content: ' a\n b ', status: 'pending', activeForm: 'Doing a' }] } }] }, 'ok'])
    await h.run('Go')
    expect(result(h)).toEqual({ text: 'Your task list, 0 of 1 completed:\n[ ] a b', error: false })
    await h.dispose()
  })

  it('the last of two calls in one answer holds', async () => {
    const compaction = compactor()
    const [one, two] = [set('  one'), set('  two')] as { calls: [] }[]
    const h = await setup([{ calls: [...one!.calls, ...two!.calls] }, 'ok'], { plugins: [compaction as never] })
    await h.run('Go')
    compaction.now = true
    await h.run('On')
    expect(announced(h)).toEqual(['Your task list, 0 of 1 completed:\n[ ] two'])
    await h.dispose()
  })
})

describe('the list', () => {
  it('is told again where compaction hid it, once; a list that is done is not', async () => {
    const compaction = compactor()
    const h = await setup([set('x read', '> write', '  run'), 'ok', 'ok', 'ok', set('x read', 'x write', 'x run'), 'ok'], { plugins: [compaction as never] })
    await h.run('Go')
    compaction.now = true
    await h.run('On')
    await h.run('And on')
    expect(announced(h)).toEqual([LIST])
    await h.run('Finish')
    compaction.now = true
    await h.run('More')
    expect(announced(h)).toEqual([])
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('is the log\'s: a resume pays nothing, and tells what compaction hid; a new call goes on from there', async () => {
    const compaction = compactor()
    const h = await setup([set('x read', '> write', '  run'), 'ok', 'ok', 'ok'], { plugins: [compaction as never] })
    await h.run('Go')
    await h.resume()
    await h.run('On')
    expect(announced(h)).toEqual([])
    await h.resume()
    compaction.now = true
    await h.run('On')
    expect(announced(h)).toEqual([LIST])
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('goes back with a rewind, and forward with another', async () => {
    const compaction = compactor()
    const h = await setup([set('> one'), 'ok', set('x one', '> two'), 'ok', 'ok', 'ok'], { plugins: [compaction as never] })
    await h.run('First')
    await h.run('Second')
    await h.agent.rewind()
    compaction.now = true
    await h.run('Third')
    expect(announced(h)).toEqual(['Your task list, 0 of 1 completed:\n[>] one'])
    await h.agent.rewind({ to: 3 })
    await h.agent.rewind({ to: 1 })
    await h.run('Fourth')
    expect(announced(h)).toEqual([])
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('of a fork is its parent\'s, as of there', async () => {
    const store = new MemoryStore()
    const compaction = compactor()
    const h = await setup([set('> one'), 'ok', set('> two'), 'ok', 'ok'], { store, plugins: [compaction as never] })
    await h.run('First')
    const at = h.agent.session.length - 1
    await h.run('Second')
    const fork = await h.ctx.agents.fork(h.agent.id, { at, id: 'fork' })
    compaction.now = true
    await fork.prompt('Go').result
    expect(fork.session.entries().filter(({ owner }) => owner === 'tasks/list')).toHaveLength(1)
    expect(JSON.stringify(fork.session.entries())).toContain('[>] one')
    await fork.dispose()
    await h.dispose()
  })

  it('of two agents are two', async () => {
    const h = await setup([set('> mine'), 'ok'])
    const other = await h.ctx.agents.create({ model: 'scripted/model' })
    await h.run('Go')
    await other.prompt('Go').result
    expect(JSON.stringify(other.session.entries())).not.toContain('mine')
    await other.dispose()
    await h.dispose()
  })
})
