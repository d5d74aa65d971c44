import type { LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { aiSdkAdapter } from '@headrace/plugin-ai-sdk'
import { failed, listenersLeft, request, toolsFor } from '@headrace/testing/adapter'
import { expect, it } from 'vitest'
import { finish, model } from './help.ts'

it('an abort is honoured for a model that does not listen to it', async () => {
  const controller = new AbortController()
  const silent = model(() => {
    controller.abort()
    return new ReadableStream()
  })
  expect((await failed(aiSdkAdapter(silent), request(undefined, { signal: controller.signal }))).failure.kind).toBe('aborted')
  const later = new AbortController()
  const deaf = { ...model([]), doStream: () => {
    later.abort()
    return new Promise<never>(() => {})
  } }
  expect((await failed(aiSdkAdapter(deaf), request(undefined, { signal: later.signal }))).failure.kind).toBe('aborted')
})

it('an answer leaves no listener behind', async () => {
  expect(await listenersLeft(aiSdkAdapter(model([finish()])))).toBe(0)
})

it('silence is told by the clock that ran down', async () => {
  const silent = model(() => new ReadableStream())
  const { failure } = await failed(aiSdkAdapter(silent, { clocks: { firstByte: 20 } }))
  expect(failure).toMatchObject({ kind: 'timeout', message: expect.stringContaining('firstByte') })
})

it('a model is cancelled with its reader', async () => {
  let cancelled = false
  const endless = model((call) => new ReadableStream<LanguageModelV3StreamPart>({
    start: (controller) => call.abortSignal!.addEventListener('abort', () => { cancelled = true; controller.error(new Error('gone')) }),
    pull: (controller) => controller.enqueue({ type: 'text-delta', id: 't', delta: 'x' }),
  }))
  for await (const _ of aiSdkAdapter(endless).stream(request(), toolsFor(request()))) break
  expect(cancelled).toBe(true)
})
