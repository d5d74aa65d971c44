import { describe, expect, it } from 'vitest'
import { Session } from '@headrace/session'
import { app, calls, expectRebuilds, plugin, textsOf, tool } from './help.ts'

const frames = plugin('frames', (ctx) => {
  let count = 0
  tool(ctx, 'look')
  ctx.agents.prefix({ key: 'p', content: () => 'PREFIX' })
  ctx.agents.before({ key: 'b', content: () => 'BEFORE' })
  ctx.agents.after({ key: 'a', content: () => `AFTER ${++count}` })
})

describe('L7 Request-only stays request-only', () => {
  it('prefix, before and after never enter history', async () => {
    const made = await app({ script: [calls('look'), 'Done.'], plugins: [frames] })
    await made.run('One.')
    await made.run('Two.')
    expect(made.requests.map(textsOf)).toEqual([
      ['PREFIX', 'BEFORE', 'One.', 'AFTER 1'],
      ['PREFIX', 'BEFORE', 'One.', '', 'look: fine', 'AFTER 2'],
      ['PREFIX', 'BEFORE', 'One.', '', 'look: fine', 'Done.', 'Two.', 'AFTER 3'],
    ])
    await expectRebuilds(made)
  })

  it('deriveMessages() never returns them: not in the open step, not after, not from the log', async () => {
    const seen: (readonly string[])[] = []
    const made = await app({
      script: (_request, index) => {
        seen.push(textsOf(made.agent.session.deriveMessages()))
        return index === 0 ? calls('look') : 'Done.'
      },
      plugins: [frames],
    })
    const { messages } = await made.run('One.')
    const history = ['One.', '', 'look: fine', 'Done.']
    expect(seen).toEqual([['One.'], ['One.', '', 'look: fine']])
    expect(textsOf(messages)).toEqual(history)
    expect(textsOf(made.agent.session.deriveMessages())).toEqual(history)
    expect(textsOf(made.agent.session.entries().map(({ message }) => message))).toEqual(history)
    await made.agent.dispose()
    const session = await Session.open(made.store, 'test')
    expect(textsOf(session.deriveMessages())).toEqual(history)
    await session.close()
  })

  it('the header is their durable record', async () => {
    const made = await app({ plugins: [frames] })
    await made.run('One.')
    await made.run('Two.')
    await made.agent.dispose()
    const session = await Session.open(made.store, 'test')
    const header = session.requestHeader()!
    expect([header.prefix, header.before, header.after].map((field) => textsOf(field!))).toEqual([['PREFIX'], ['BEFORE'], ['AFTER 2']])
    expect(header.owners).toMatchObject({ prefix: ['frames/p'], before: ['frames/b'], after: ['frames/a'] })
    await session.close()
  })

  it('a side request has no after, and leaves no trace in history', async () => {
    const made = await app({ script: ['Done.', 'A title.'], plugins: [frames] })
    await made.run('One.')
    await made.agent.ask(['Title?'], { purpose: 'title' })
    expect(textsOf(made.requests[1]!)).toEqual(['PREFIX', 'BEFORE', 'One.', 'Done.', 'Title?'])
    expect(textsOf(made.agent.session.deriveMessages())).toEqual(['One.', 'Done.'])
    await expectRebuilds(made)
  })
})
