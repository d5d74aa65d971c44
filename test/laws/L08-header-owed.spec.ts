import { describe, expect, it } from 'vitest'
import { MemoryStore, StoreError, type Lease, foldRequestHeader } from '@headrace/session'
import { turns } from '@headrace/testing/gate'
import { app, calls, eventsOf, plugin, tool } from './help.ts'

/** Tells in which order things were appended, became durable, and left. A flush takes a moment. */
class JournalStore extends MemoryStore {
  readonly journal: string[] = []
  failing = false

  override async lease(id: string): Promise<Lease> {
    const lease = await super.lease(id)
    let appended = 0
    return {
      ...lease,
      append: (batch) => {
        lease.append(batch)
        appended += batch.events.length
        for (const { type } of batch.events) if (type.startsWith('request/')) this.journal.push(type)
      },
      flush: async () => {
        const upTo = appended
        await turns()
        if (this.failing) throw new StoreError('the disk is gone')
        await lease.flush()
        if (upTo === appended) this.journal.push('durable')
      },
    }
  }
}

describe('L8 The header is owed before dispatch', () => {
  it('appended and durable before the request leaves, first, changed, and as a side request needs it', async () => {
    const store = new JournalStore()
    const made = await app({
      store,
      script: () => {
        store.journal.push('the model')
        return 'ok'
      },
      plugins: [plugin('fresh', (ctx) => {
        let count = 0
        ctx.agents.after({ key: 'count', content: () => `${++count}` })
      })],
    })
    for (const prompt of ['One.', 'Two.']) await made.run(prompt)
    await made.agent.ask(['Title?'], { purpose: 'title' })
    expect(withoutRepeats(store.journal.slice(store.journal.indexOf('request/header')))).toEqual([
      'request/header', 'request/dispatch', 'durable', 'the model', 'request/end', 'durable',
      'request/header-delta', 'request/dispatch', 'durable', 'the model', 'request/end', 'durable',
      'request/dispatch', 'durable', 'the model', 'request/end',
    ])
  })

  it('a request whose log could not be made durable does not leave', async () => {
    const store = new JournalStore()
    const { agent, requests } = await app({ store, reports: 'allow' })
    const handle = agent.prompt('Hi.')
    await handle.accepted
    store.failing = true
    expect(await handle.result).toMatchObject({ reason: 'error' })
    expect(requests).toHaveLength(0)
    store.failing = false
  })

  it('each dispatch has its whole header before it in the log, whatever changed', async () => {
    let step = 0
    const made = await app({
      script: [calls('look'), calls('look'), { error: {} }, 'Done.'],
      plugins: [plugin('changes', (ctx) => {
        tool(ctx, 'look', () => {
          tool(ctx, `more-${++step}`)
          ctx.system.section({ key: `s${step}`, content: `section ${step}` })
          return 'x'
        })
        ctx.on('agent/request-error', async () => ({ retry: { config: { model: 'spare' } } }))
        ctx.on('agent/request', async (_agent, _turn, { number }, _config, next) => ({ ...await next(), temperature: number }))
      })],
    })
    await made.run('Hi.')
    const log = await made.events()
    expect(eventsOf(log, 'request/dispatch')).toHaveLength(4)
    for (const [index, { seq }] of eventsOf(log, 'request/dispatch').entries()) {
      const header = foldRequestHeader(log.slice(0, seq))!
      const { config, system, tools } = made.requests[index]!
      expect([header.config, header.system, header.tools]).toEqual([config, system, tools])
    }
  })
})

function withoutRepeats(list: readonly string[]): readonly string[] {
  return list.filter((item, index) => item !== list[index - 1])
}
