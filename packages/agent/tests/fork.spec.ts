import type { Context } from 'cordis'
import { textOf } from '@headrace/message'
import { verify, type SessionEvent } from '@headrace/session'
import { type Harness, harness } from '@headrace/testing'
import { describe, expect, it } from 'vitest'

async function eventsOf(h: Harness, id: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of h.store.load(id)) events.push(...batch)
  return events
}

describe('a fork', () => {
  it('copies the log up to any event, under its own session/open, and goes on from there', async () => {
    const h = await harness({ script: ['one', 'two', 'three', 'four'] })
    for (const prompt of ['a', 'b', 'c']) await h.run(prompt)
    const end = (await h.events()).find((event) => event.type === 'turn/end' && event.data.turn === 2)!
    const fork = await h.ctx.agents.fork('test', { at: end.seq, id: 'child' })
    expect(fork.session.deriveMessages().map(textOf)).toEqual(['a', 'one', 'b', 'two'])
    await fork.prompt('d').result
    expect(fork.session.deriveMessages().map(textOf)).toEqual(['a', 'one', 'b', 'two', 'd', 'four'])
    const events = await eventsOf(h, 'child')
    expect(events[0]).toMatchObject({ type: 'session/open', data: { id: 'child', parent: 'test', at: end.seq } })
    expect(events.filter((event) => event.type === 'request/header').map(({ data }) => data.reason)).toEqual(['initial', 'fork'])
    expect(verify(events)).toMatchObject({ requests: 3 })
    expect(verify(events).difference).toBeUndefined()
    expect(h.agent.session.deriveMessages().map(textOf)).toEqual(['a', 'one', 'b', 'two', 'c', 'three'])
    await h.dispose()
  })

  it('sends its parent\'s recorded prefix, without asking again; explicit options win', async () => {
    let count = 0
    const opener = { name: 'opener', inject: ['agents'], apply: async (ctx: Context) => void ctx.agents.prefix({ key: 'count', content: () => `prefix ${++count}` }) }
    const h = await harness({ plugins: [opener] })
    await h.run('a')
    const fork = await h.ctx.agents.fork('test', { config: { temperature: 0.5 } })
    await fork.prompt('b').result
    expect(count).toBe(1)
    expect(textOf(h.requests[1]!.messages[0]!)).toBe('prefix 1')
    expect(h.requests[1]!.owners[0]).toBe('opener/count')
    expect(h.requests[1]!.config.temperature).toBe(0.5)
    expect(h.reports).toEqual([])
    await h.dispose()
  })

  it('cut anywhere it is repaired as on resume, and its log verifies; queued prompts are withdrawn in the child', async () => {
    const tool = { name: 'tool', inject: ['tools'], apply: async (ctx: Context) => void ctx.tools.define({ name: 'now', description: '', parameters: { type: 'object' }, execute: () => 'noon' }) }
    const h = await harness({ plugins: [tool], script: (_request, index) => (index === 0 ? { text: 'Let me look.', calls: [{ name: 'now' }, { name: 'now' }] } : 'noon') })
    const handle = h.agent.prompt('What time is it?')
    const waits = h.agent.prompt('waits')
    await handle.result
    await waits.result
    const parent = await h.events()
    for (let at = 0; at < parent.length; at++) {
      const id = `at-${at}`
      const fork = await h.ctx.agents.fork('test', { at, id })
      await fork.idle()
      const events = await eventsOf(h, id)
      expect(verify(events).difference, `cut at ${at} (${parent[at]!.type})`).toBeUndefined()
      expect(fork.session.owed, `cut at ${at} (${parent[at]!.type})`).toBe(false)
      await fork.dispose()
    }
    expect(await h.verify()).not.toHaveProperty('difference')
    await h.dispose()
  })

  it('takes the blobs along that its log names', async () => {
    const h = await harness({})
    const image = await h.agent.putImage(new Uint8Array([1, 2, 3]), 'image/png')
    await h.agent.prompt([image, 'What is this?']).result
    await h.ctx.agents.fork('test', { id: 'child' })
    expect(await h.store.getBlob('child', image.digest)).toEqual(new Uint8Array([1, 2, 3]))
    await h.dispose()
  })

  it('at an event that is not there is refused, and leaves nothing', async () => {
    const h = await harness({})
    await h.run('a')
    await expect(h.ctx.agents.fork('test', { at: 999, id: 'child' })).rejects.toThrow(/session test has no event 999/)
    await expect(eventsOf(h, 'child')).rejects.toThrow(/no session "child"/)
    await h.dispose()
  })
})

it('a session that was cut off before its first request goes on with the config it was created with', async () => {
  const h = await harness({ agent: { config: { temperature: 0.5 } } })
  await h.run('Go')
  const events = await h.events()
  for (const at of [1, 2, 3]) {
    const agent = await h.ctx.agents.fork('test', { at, id: `at-${at}` })
    await agent.idle()
    await agent.prompt('Go').result
    expect(h.requests.at(-1)!.config, events[at]!.type).toEqual({ model: 'scripted/model', temperature: 0.5 })
  }
  await h.dispose()
})
