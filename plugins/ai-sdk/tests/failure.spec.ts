import type { LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { aiSdkAdapter } from '@headrace/plugin-ai-sdk'
import { failed, request, text } from '@headrace/testing/adapter'
import { describe, expect, it } from 'vitest'
import { finish, model } from './help.ts'

describe('an answer that breaks off is never a finished one', () => {
  const cut: LanguageModelV3StreamPart[] = [{ type: 'tool-input-start', id: 'a', toolName: 'bash' }, { type: 'tool-input-delta', id: 'a', delta: '{"command":"rm' }]

  it.each([
    ['no finish', []], ['a finish of the package’s own', [finish('other')]], ['an interrupted one', [finish('interrupted' as never)]],
    ['the unknown one of specification v2', [{ type: 'finish', finishReason: 'unknown', usage: {} } as never]],
  ])('where there is %s', async (_, end) => {
    const { failure, chunks } = await failed(aiSdkAdapter(model([...cut, ...end])))
    expect(failure.kind).toBe('network')
    expect(chunks.some(({ type }) => type === 'finish')).toBe(false)
  })

  it('where the stream ends in order, with half a text', async () => {
    const { failure, chunks } = await failed(aiSdkAdapter(model([{ type: 'text-delta', id: 't', delta: 'half' }])))
    expect([failure.kind, text(chunks)]).toEqual(['network', 'half'])
  })

  it.each(['error', 'insufficient_system_resource'])('where it finishes with “%s”', async (reason) => {
    const { failure } = await failed(aiSdkAdapter(model([finish('other', reason)])))
    expect(failure).toMatchObject({ kind: 'server', message: expect.stringContaining(`stopped with "${reason}" instead of an answer`) })
  })
})

describe('a model that cannot be asked', () => {
  it('is refused where the request names another model than the one there is', async () => {
    const fake = model([finish()])
    const { failure } = await failed(aiSdkAdapter(fake), request(undefined, { config: { model: 'local/other' } }))
    expect(failure).toMatchObject({ kind: 'invalid', message: expect.stringContaining('"m" only, not "other"') })
    expect(fake.calls).toEqual([])
  })

  it('is refused where it is of a specification that nobody knows', async () => {
    const odd = { ...model([]), specificationVersion: 'v9' } as never
    expect((await failed(aiSdkAdapter(() => odd))).failure).toMatchObject({ kind: 'invalid', message: expect.stringContaining('v9') })
  })

  it('fails with whatever it throws, as unknown', async () => {
    const broken = { ...model([]), doStream: () => { throw new RangeError('odd') } }
    expect((await failed(aiSdkAdapter(broken))).failure).toEqual({ kind: 'unknown', message: 'local failed: odd' })
  })
})
