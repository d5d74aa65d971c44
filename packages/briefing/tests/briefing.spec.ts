import type { Context } from 'cordis'
import { textOf } from '@headrace/message'
import { type Harness, type Script, harness } from '@headrace/testing'
import { describe, expect, it } from 'vitest'
import { BriefingService, type Reading, type Topic, unavailable } from '../src/index.ts'

/** A plugin with one topic, whose state the test sets. */
function topicPlugin(name: string, topic: Omit<Partial<Topic>, 'content'> & { key: string }, state: { text: Reading | Error; reads?: number }): { name: string; inject: string[]; apply: (ctx: Context) => Promise<void> } {
  return {
    name, inject: ['briefing', 'agents'],
    apply: async (ctx) => {
      ctx.briefing.topic({
        ...topic,
        content: () => {
          state.reads = (state.reads ?? 0) + 1
          if (state.text instanceof Error) throw state.text
          return state.text
        },
      })
    },
  }
}

const setup = (plugins: readonly unknown[], script: Script = ['ok']): Promise<Harness> => harness({ plugins: [BriefingService, ...plugins] as never, script })

function told(h: Harness): readonly string[] {
  return h.agent.session.entries().filter(({ owner }) => owner.includes('/')).map(({ owner, message }) => `${owner}: ${textOf(message)}`)
}

describe('a topic in history', () => {
  it('is told once, before the user\'s message, signed by its plugin', async () => {
    const h = await setup([topicPlugin('book', { key: 'runbook' }, { text: 'Turn it off and on.' })])
    await h.run('Help')
    await h.run('Again')
    expect(h.agent.session.entries().map(({ owner }) => owner)).toEqual(['book/runbook', 'user', 'model', 'user', 'model'])
    expect(told(h)).toEqual(['book/runbook: Turn it off and on.'])
    await h.dispose()
  })

  it('is announced once when it changes, also back to what it was, and when it is gone', async () => {
    const state: { text: Reading } = { text: 'one' }
    const h = await setup([topicPlugin('book', { key: 'page', changed: (text) => `now ${text}`, removed: () => 'gone' }, state)])
    for (const text of ['one', 'two', 'two', 'one', undefined, undefined, '  ', 'one']) {
      state.text = text
      await h.run('Go')
    }
    expect(told(h)).toEqual(['book/page: one', 'book/page: now two', 'book/page: now one', 'book/page: gone', 'book/page: now one'])
    await h.dispose()
  })

  it('changed inside a turn is told ahead of the next step', async () => {
    const state: { text: Reading } = { text: 'one' }
    const h = await setup([topicPlugin('book', { key: 'page' }, state), {
      name: 'turner', inject: ['tools'],
      apply: async (ctx: Context) => void ctx.tools.define({ name: 'turn', description: '', parameters: { type: 'object' }, execute: () => { state.text = 'two'; return 'turned' } }),
    }], [{ calls: [{ name: 'turn' }] }, 'ok'])
    await h.run('Go')
    expect(h.agent.session.entries().map(({ owner }) => owner)).toEqual(['book/page', 'user', 'model', 'tool', 'book/page', 'model'])
    await h.dispose()
  })

  it('that is unavailable, throws or is late keeps what was told; the last two are reported by name', async () => {
    const state: { text: Reading | Error } = { text: 'one' }
    const h = await setup([topicPlugin('book', { key: 'page' }, state)])
    await h.run('Go')
    state.text = unavailable
    await h.run('Go')
    expect(h.reports).toEqual([])
    state.text = new Error('disk is away')
    await h.run('Go')
    expect(told(h)).toEqual(['book/page: one'])
    expect(h.reports[0]).toMatchObject({ plugin: 'book', problem: expect.stringContaining('disk is away') as string })
    await h.dispose()
  })

  it('costs nothing on a resume in which nothing changed, and is told again after compaction hid it', async () => {
    const state: { text: Reading } = { text: 'one' }
    const h = await setup([topicPlugin('book', { key: 'page' }, state)])
    await h.run('Go')
    await h.resume()
    await h.run('Go')
    expect(told(h)).toHaveLength(1)
    const [first, last] = [h.agent.session.entries()[0]!.id, h.agent.session.entries().at(-1)!.id]
    h.agent.replace(first, last, ['Summary.'], { reason: 'test' })
    await h.run('Go')
    expect(h.agent.session.entries().map(({ owner }) => owner)).toEqual(['app', 'book/page', 'user', 'model'])
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('stands in the order (order, plugin, key), whatever the load order', async () => {
    const plugins = [topicPlugin('b', { key: 'x' }, { text: 'bx' }), topicPlugin('a', { key: 'y' }, { text: 'ay' }), topicPlugin('c', { key: 'z', order: -1 }, { text: 'cz' })]
    for (const order of [plugins, [...plugins].reverse()]) {
      const h = await setup(order)
      await h.run('Go')
      expect(told(h).map((line) => line.split(':')[0])).toEqual(['c/z', 'a/y', 'b/x'])
      await h.dispose()
    }
  })

  it('goes with its plugin; what it told stays', async () => {
    const state = { text: 'one', reads: 0 }
    const h = await setup([])
    const fiber = await h.ctx.plugin(topicPlugin('book', { key: 'page' }, state))
    await h.run('Go')
    await fiber.dispose()
    const reads = state.reads
    await h.run('Go')
    expect(state.reads).toBe(reads)
    expect(told(h)).toHaveLength(1)
    await h.dispose()
  })

  it('may not have the key of another topic of its plugin', async () => {
    const h = await setup([topicPlugin('book', { key: 'page' }, { text: 'one' })])
    await expect(h.ctx.plugin(topicPlugin('book', { key: 'page' }, { text: 'two' }))).rejects.toThrow(/plugin book has a topic "page" already/)
    await h.dispose()
  })
})

describe('told()', () => {
  it('is what a plugin told last and is visible, by key: also what it returned from a tool, also on resume; not what others told', async () => {
    const seen: (readonly [string, string])[][] = []
    const guide = {
      name: 'guide', inject: ['briefing', 'agents', 'tools'],
      apply: async (ctx: Context) => {
        ctx.tools.define({ name: 'look', description: '', parameters: { type: 'object' }, execute: () => 'seen' })
        ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next(), additionalContext: [{ key: 'sub/', content: 'there' }] }))
        ctx.on('agent/pre-step', async (agent, _turn, step, next) => {
          seen.push([...ctx.briefing.told(agent)])
          if (step.number === 2) {
            const [first, last] = [agent.session.entries()[0]!, agent.session.entries().at(-1)!]
            agent.replace(first.id, last.id, ['a summary'], { reason: 'test', key: 'summary' })
            seen.push([...ctx.briefing.told(agent)])
          }
          return next()
        })
      },
    }
    const h = await setup([guide, topicPlugin('guide-book', { key: 'page' }, { text: 'one' })], [{ calls: [{ name: 'look' }] }, 'ok'])
    await h.run('Go')
    expect(seen).toEqual([[], [['sub/', 'there']], [['summary', 'a summary']]])
    await h.resume()
    await h.run('Again')
    expect(seen.at(-1)).toEqual([['summary', 'a summary']])
    await h.dispose()
  })
})

describe('a topic whose words throw', () => {
  it.each<readonly [string, () => unknown, RegExp]>([
    ['throw', () => { throw new Error('no words') }, /no words/],
    ['are no text', () => 5, /must be/],
  ])('is reported where they %s, what was told stands, and the turn goes on', async (_, changed, problem) => {
    const state: { text: Reading } = { text: 'one' }
    const h = await setup([topicPlugin('book', { key: 'page', changed: changed as () => string }, state), topicPlugin('other', { key: 'page' }, { text: 'there' })])
    await h.run('Go')
    state.text = 'two'
    expect(await h.run('Go')).toMatchObject({ reason: 'done' })
    expect(told(h)).toEqual(['book/page: one', 'other/page: there'])
    expect(h.reports[0]).toMatchObject({ plugin: 'book', seam: 'topic page', problem: expect.stringMatching(problem) as string })
    await h.dispose()
  })
})

describe('a topic in the prefix', () => {
  it('opens in the prefix, is announced in history when it changes, and is recomposed by a resume', async () => {
    const state: { text: Reading } = { text: 'one' }
    const h = await setup([topicPlugin('book', { key: 'page', baseline: 'prefix', changed: (text) => `now ${text}` }, state)])
    await h.run('Go')
    expect(h.requests[0]!.owners).toEqual(['book/page', 'user'])
    expect(told(h)).toEqual([])
    state.text = 'two'
    await h.run('Go')
    expect(told(h)).toEqual(['book/page: now two'])
    expect(textOf(h.requests[1]!.messages[0]!)).toBe('one')
    await h.resume()
    await h.run('Go')
    expect(textOf(h.requests[2]!.messages[0]!)).toBe('two')
    expect(told(h)).toEqual(['book/page: now two'])
    await h.dispose()
  })
})

describe('a topic with a tool', () => {
  /** A plugin whose tool sets the state that its topic tells. */
  const listPlugin = (state: { text: string }, topic: Partial<Topic> = {}) => ({
    name: 'list', inject: ['briefing', 'tools'],
    apply: async (ctx: Context) => {
      ctx.tools.define({
        name: 'set', description: '', parameters: { type: 'object' },
        execute: ({ fail }: { fail?: true }) => {
          state.text += '!'
          return fail ? { content: state.text, error: true } : state.text
        },
      })
      ctx.briefing.topic({ key: 'now', tool: 'set', content: () => state.text, ...topic })
    },
  })
  const call = (args: object = {}) => ({ calls: [{ name: 'set', arguments: args }] })

  it('is told by a result of it, and announced only where that is hidden, by a replace or a rewind', async () => {
    const state = { text: 'one' }
    const h = await setup([listPlugin(state)], [call(), 'ok', 'ok', 'ok'])
    await h.run('Go')
    await h.run('On')
    expect(told(h)).toEqual(['list/now: one'])
    const entries = h.agent.session.entries()
    h.agent.replace(entries[0]!.id, entries[3]!.id, ['In short.'], { reason: 'test' })
    await h.run('On')
    expect(told(h)).toEqual(['list/now: one!'])
    await h.agent.rewind()
    await h.run('On')
    expect(told(h)).toEqual(['list/now: one!'])
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('counts in a later life and in a fork too', async () => {
    const h = await setup([listPlugin({ text: 'one' })], [call(), 'ok'])
    await h.run('Go')
    await h.resume()
    await h.run('On')
    const fork = await h.ctx.agents.fork(h.agent.id, { id: 'fork' })
    await fork.prompt('On').result
    for (const { session } of [h.agent, fork]) expect(session.entries().filter(({ owner }) => owner === 'list/now')).toHaveLength(1)
    await fork.dispose()
    await h.dispose()
  })

  it('is not told by an error, by the words of another tool, nor where the words are not the state', async () => {
    const state = { text: 'one' }
    const h = await setup([listPlugin(state, { changed: (text) => `now ${text}` })], [call({ fail: true }), 'ok', call(), 'ok', 'ok'])
    await h.run('Go')
    expect(told(h)).toEqual(['list/now: one', 'list/now: now one!'])
    await h.run('On')
    state.text = 'other'
    await h.run('On')
    expect(told(h)).toEqual(['list/now: one', 'list/now: now one!', 'list/now: now other'])
    await h.dispose()
  })

  it('names it by a text', async () => {
    const wrong = { name: 'wrong', inject: ['briefing'], apply: async (ctx: Context) => void ctx.briefing.topic({ key: 'a', content: 'b', tool: 1 as never }) }
    await expect(setup([wrong])).rejects.toThrow('names its tool by a text')
  })
})
