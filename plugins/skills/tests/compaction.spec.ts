import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { textOf } from '@headrace/message'
import { CompactionService, INSTRUCTION, SUMMARY_TITLE } from '@headrace/plugin-compaction'
import type { Harness, Script } from '@headrace/testing'
import { World, setup, skillText } from './kit.ts'

let world: World
beforeEach(() => {
  world = new World()
  world.skill('release', skillText('release', 'Releases.', `${'Check the list. '.repeat(60)}NEVER on Friday. ${'Tell the team. '.repeat(60)}`))
})
afterEach(() => world.remove())

const open = { calls: [{ name: 'skill', arguments: { name: 'release' } }] }
const filler = 'word '.repeat(150)

/** A model that opens the skill first, then talks at length. */
const model: Script = (request, index) => (textOf(request.messages.at(-1)!) === INSTRUCTION ? 'We talked.' : index === 0 ? open : `answer ${index} ${filler}`)

async function app(config: object, skills = {}, script = model): Promise<Harness> {
  return setup(world, skills, { script, plugins: [[CompactionService, config] as never], reports: 'allow' })
}

const saying = (h: Harness, words: string): readonly string[] =>
  h.agent.session.entries().filter(({ message }) => JSON.stringify(message).includes(words)).map(({ owner }) => owner)
const owners = (h: Harness): readonly string[] => h.agent.session.entries().map(({ owner }) => owner)

describe('a skill that was opened (C3)', () => {
  it('is told again directly behind the summary, each time, once and whole', async () => {
    const h = await app({ window: 3_000, keep: 0.1, threshold: 0.5 })
    await h.run('Go.')
    let summaries = 0
    for (let index = 0; index < 14; index++) {
      await h.run(`prompt ${index}`)
      summaries = (await h.events()).filter((event) => event.type === 'surface/replace' && event.data.reason === 'summarised').length
      expect(saying(h, 'NEVER on Friday')).toHaveLength(1)
    }
    expect(summaries).toBeGreaterThan(1)
    const summary = h.agent.session.entries().findIndex(({ message }) => textOf(message).startsWith(SUMMARY_TITLE))
    expect(owners(h)[summary + 1]).toBe('skills/opened')
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('also where its result was only cut', async () => {
    const h = await app({ window: 6_000, keep: 0.02, threshold: 0.5 }, {}, (_, index) => (index === 0 ? { calls: [...open.calls, { name: 'dump' }] } : 'ok'))
    h.ctx.tools.define({ name: 'dump', description: '', parameters: { type: 'object' }, execute: () => filler.repeat(20) })
    await h.run('Go.')
    await h.run('And now?')
    expect(owners(h)).toContain('compaction/trim')
    expect(saying(h, 'NEVER on Friday')).toEqual(['skills/opened'])
    expect(saying(h, SUMMARY_TITLE)).toEqual([])
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('is not told again where it is open in what stays, nor with keep: 0', async () => {
    const again = await app({ threshold: 0, keep: 0 }, {}, (request, index) => (textOf(request.messages.at(-1)!) === INSTRUCTION ? 'We talked.' : index === 0 ? open : `answer ${index} ${filler}`))
    for (const prompt of ['Go.', 'a', '/release', 'b']) await again.run(prompt)
    const standing = saying(again, 'NEVER on Friday').length
    await again.ctx.compaction.compact('test')
    expect([standing, saying(again, 'NEVER on Friday')]).toEqual([1, ['skills/opened']])
    await again.dispose()
    const off = await app({ threshold: 0, keep: 0 }, { keep: 0 })
    for (const prompt of ['Go.', 'a', 'b']) await off.run(prompt)
    await off.ctx.compaction.compact('test')
    expect(saying(off, 'NEVER on Friday')).toEqual([])
    await off.dispose()
  })

  it('that is longer than keep loses its end, and a note says how to get the rest', async () => {
    const rest: Script = (request, index) => {
      const [, offset] = /offset (\d+)\.\]/.exec(request.messages.map(textOf).join('')) ?? []
      if (textOf(request.messages.at(-1)!) === 'The rest.') return { calls: [{ name: 'skill', arguments: { name: 'release', offset: Number(offset) } }] }
      return model(request, index)
    }
    const h = await app({ threshold: 0, keep: 0 }, { keep: 500 }, rest)
    for (const prompt of ['Go.', 'a', 'b']) await h.run(prompt)
    await h.ctx.compaction.compact('test')
    const [kept] = h.agent.session.entries().filter(({ owner }) => owner === 'skills/opened').map(({ message }) => textOf(message))
    expect(kept).toMatch(/\[Cut here\. For the rest call the skill tool with the name release and offset \d+\.\]$/)
    await h.run('The rest.')
    const got = h.agent.session.entries().map(({ message }) => (message.role === 'tool' ? textOf(message.content[0]) : '')).find((text) => text !== '')!
    const body = 'Check the list. '.repeat(60)
    expect((kept!.slice(kept!.indexOf('Check'), kept!.lastIndexOf('\n')) + got).startsWith(`${body}NEVER on Friday.`)).toBe(true)
    await h.dispose()
  })
})
