import { expect, it } from 'vitest'
import { harness } from '@headrace/testing'
import { ShownItems, itemFold, itemsOf, saidItems } from '@headrace/desk'

it('live and from the log, after each event, the items are the same', async () => {
  const made = await harness({ script: [{ reasoning: 'Hm.', text: 'Let me see.', pieces: 3, calls: [{ name: 'look', arguments: { a: 1 } }] }, { text: 'Half', error: { kind: 'network' } }], reports: 'allow' })
  made.ctx.tools.define({ name: 'look', description: 'x', parameters: { type: 'object' }, execute: async (_, run) => { run.output('abc'); return 'fine' } })
  const fold = itemFold()
  const shown = new ShownItems()
  shown.apply(fold.append([...made.agent.session.events()]))
  made.agent.session.on('event', (event) => {
    shown.apply(fold.append([event]))
    expect(shown.items).toEqual(fold.items)
    expect(saidItems(fold.items)).toEqual(itemsOf([...made.agent.session.events()].filter(({ seq }) => seq <= event.seq)))
  })
  made.agent.session.on('piece', (piece) => { shown.apply(fold.piece(piece)); expect(shown.items).toEqual(fold.items) })
  await made.run('Go.')
  expect(fold.items.map(({ id, kind }) => `${id} ${kind}`)).toEqual(['1 message', '6.0 thought', '6.1 message', '6.2 call', '7 usage', '16 notice'])
  await made.dispose()
})
