import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import type { Adapter, ToolRun } from '@headrace/agent'
import { KEY_MARK, NO_USAGE } from '@headrace/message'
import { harness } from '@headrace/testing'

const KEY = 'hr-0123456789abcdefXYZ'

/** An app whose model goes out with a key, calls a tool that says `output`, and answers. */
async function app(output: () => unknown, answer = 'Done.') {
  const keyed = { name: 'keyed', inject: ['llm', 'tools'], apply: async (ctx: Context) => {
    ctx.tools.define({ name: 'print', description: '', parameters: { type: 'object' }, execute: output as () => string })
    let count = 0
    const adapter: Adapter = { async *stream(_request, tools) {
      tools.key?.(KEY)
      const isFirst = count++ === 0
      yield isFirst ? { type: 'tool-call', index: 0, id: 'c1', name: 'print', arguments: '{}' } : { type: 'text', text: answer }
      yield { type: 'usage', usage: NO_USAGE }
      yield { type: 'finish', reason: isFirst ? 'tool-calls' : 'stop' }
    } }
    ctx.llm.adapter('keyed', adapter)
  } }
  return harness({ plugins: [keyed], agent: { model: 'keyed/m' }, reports: 'allow' })
}

describe('a key that went out with a request', () => {
  it.each([
    ['whole', () => `OPENAI_API_KEY=${KEY}`, `OPENAI_API_KEY=${KEY_MARK}`],
    ['in another case', () => `key: ${KEY.toUpperCase()}.`, `key: ${KEY_MARK}.`],
    ['in an error', () => { throw new Error(`401 for ${KEY}`) }, `401 for ${KEY_MARK}`],
    ['in JSON', () => ({ key: KEY }), `{\n "key": "${KEY_MARK}"\n}`],
  ])('is taken out of what a tool says: %s', async (_, output, said) => {
    const h = await app(output)
    expect(await h.run('Hi.')).toMatchObject({ reason: 'done' })
    const events = await h.events()
    expect(JSON.stringify(events).toLowerCase()).not.toContain(KEY.toLowerCase())
    const result = events.find((event) => event.type === 'tool/result')
    expect(result?.type === 'tool/result' && result.data.message.content[0].content[0]).toEqual({ type: 'text', text: said })
    await h.dispose()
  })

  it('is taken out of what a tool shows while it runs, also where it comes in two parts, and of its details', async () => {
    const h = await app(() => ({ content: 'ok', details: { key: KEY } }))
    const shown: string[] = []
    h.agent.session.on('piece', (piece) => shown.push(piece.text))
    await h.run('Hi.')
    expect(JSON.stringify(await h.events())).not.toContain(KEY)
    await h.dispose()
    const live = await app(((_: unknown, run: ToolRun) => {
      run.output(`key ${KEY.slice(0, 9)}`)
      run.output(`${KEY.slice(9)} and more`)
      return 'ok'
    }) as never)
    live.agent.session.on('piece', (piece) => shown.push(piece.text))
    await live.run('Hi.')
    expect(JSON.stringify(await live.events())).not.toContain(KEY)
    expect(shown.join('')).toContain(`key ${KEY_MARK} and more`)
    await live.dispose()
  })

  it('a part of it is left: output is not torn', async () => {
    const h = await app(() => `hr-0123456789abcdef`)
    await h.run('Hi.')
    expect(JSON.stringify(await h.events())).toContain('hr-0123456789abcdef')
    expect(h.reports).toEqual([])
    await h.dispose()
  })

  it.each([['user', `My key is ${KEY}.`, 'Done.'], ['model', 'Hi.', `It is ${KEY}.`]])('what a %s says is never changed, and is reported once', async (_, prompt, answer) => {
    const h = await app(() => 'ok', answer)
    await h.run(prompt)
    await h.run(prompt)
    expect(JSON.stringify(await h.events())).toContain(KEY)
    expect(h.reports.filter(({ kind }) => kind === 'secret')).toHaveLength(1)
    expect(JSON.stringify(h.reports)).not.toContain(KEY)
    await h.dispose()
  })
})
