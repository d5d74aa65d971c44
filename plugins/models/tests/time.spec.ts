import { createModelServer } from '@headrace/model-server'
import type { Chunk } from '@headrace/message'
import { stopClock } from '@headrace/testing/clock'
import { turns, until } from '@headrace/testing/gate'
import { failed, listenersLeft, rawServer, request, text, toolsFor, use } from '@headrace/testing/adapter'
import { describe, expect, it } from 'vitest'
import { endpoint } from './help.ts'

const noBlobs = toolsFor(request())

describe('an abort', () => {
  it('ends the attempt and the connection at once: before an answer and in the middle of one', async () => {
    for (const reply of [{ hang: true as const }, { text: 'some text that is streamed', stallAfter: 1 }]) {
      const controller = new AbortController()
      const server = use(await createModelServer(() => reply))
      const ending = failed(endpoint(server.url), request(undefined, { signal: controller.signal }))
      await until(() => server.requests.length === 1)
      // By then what a stream begins with has come, or not: either is a moment for an abort.
      await turns()
      controller.abort()
      expect((await ending).failure).toEqual({ kind: 'aborted', message: 'the request was aborted' })
      await server.idle()
      expect(server.requests[0]!.outcome).toBe('aborted')
    }
  })

  it('ends the connection also while the consumer is busy with what it has', async () => {
    const server = use(await createModelServer(() => ({ text: 'some text that is streamed', stallAfter: 1 })))
    const controller = new AbortController()
    const stream = endpoint(server.url).stream(request(undefined, { signal: controller.signal }), noBlobs)[Symbol.asyncIterator]()
    await stream.next()
    await stream.next()
    controller.abort()
    await server.idle()
    expect(server.requests[0]!.outcome).toBe('aborted')
    await expect(stream.next()).rejects.toMatchObject({ failure: { kind: 'aborted' } })
  })

  it('before the start sends nothing', async () => {
    const server = use(await createModelServer(() => 'ok'))
    expect((await failed(endpoint(server.url), request(undefined, { signal: AbortSignal.abort() }))).failure.kind).toBe('aborted')
    expect(server.requests).toEqual([])
  })

  it('leaves no listener behind, nor does an answer', async () => {
    expect(await listenersLeft(endpoint(use(await createModelServer(() => 'ok')).url))).toBe(0)
  })
})

describe('silence', () => {
  it('longer than the timeout ends the attempt, before an answer and in the middle of one', async () => {
    const clock = stopClock()
    for (const reply of [{ hang: true as const }, { text: 'some text that is streamed', stallAfter: 1 }]) {
      const server = use(await createModelServer(() => reply))
      const ending = failed(endpoint(server.url, { firstByte: 100, idle: 100 }))
      await until(() => server.requests.length === 1)
      let over = false
      void ending.finally(() => (over = true))
      while (!over) await clock.pass(100)
      const { failure } = await ending
      const told = 'hang' in reply ? 'local has not begun to answer after 0.1 s (its firstByte clock)' : 'local sent nothing for 0.1 s (its idle clock)'
      expect(failure).toEqual({ kind: 'timeout', message: told })
      await server.idle()
      expect(server.requests[0]!.outcome).toBe('aborted')
    }
  })

  it('shorter than the timeout does not, however long the whole takes', async () => {
    const clock = stopClock()
    const server = use(await createModelServer(() => ({ text: 'x'.repeat(80), chunkSize: 10, delay: 100 })))
    const chunks: Chunk[] = []
    const reading = (async () => {
      for await (const chunk of endpoint(server.url, { idle: 400 }).stream(request(), noBlobs)) chunks.push(chunk)
    })()
    await until(() => server.requests.length === 1)
    for (let piece = 1; piece <= 8; piece++) {
      await clock.pass(100)
      await until(() => text(chunks).length >= piece * 10)
    }
    await clock.pass(100)
    await reading
    expect(text(chunks)).toBe('x'.repeat(80))
  })
})

describe('a long answer', () => {
  it('is not read ahead of its consumer, and its connection ends when nobody listens any more', async () => {
    let written = 0
    let end: () => void
    const ended = new Promise<void>((resolve) => { end = resolve })
    const event = `data: ${JSON.stringify({ choices: [{ delta: { content: 'x'.repeat(10_000) } }] })}\n\n`
    const url = await rawServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const more = (): void => {
        while (!response.destroyed) {
          written += event.length
          if (!response.write(event)) break
        }
      }
      response.on('drain', more).on('close', () => end())
      more()
    })
    let taken = 0
    for await (const chunk of endpoint(url).stream(request(), noBlobs)) {
      if (chunk.type !== 'text') continue
      taken++
      if (taken === 3) {
        // Nothing is written any more once all buffers on the way are full.
        for (let seen = -1; seen !== written;) {
          seen = written
          await turns(200)
        }
        break
      }
    }
    await ended
    // What is on its way is in the buffers of sockets and streams, a few megabytes at most.
    expect(written).toBeLessThan(16_000_000)
  })

  it('of 50 MB arrives whole', async () => {
    const piece = 'x'.repeat(100_000)
    const event = `data: ${JSON.stringify({ choices: [{ delta: { content: piece } }] })}\n\n`
    const url = await rawServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      let left = 500
      const more = (): void => {
        while (left > 0) {
          left--
          if (!response.write(event)) return
        }
        response.end('data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
      }
      response.on('drain', more)
      more()
    })
    let length = 0
    for await (const chunk of endpoint(url).stream(request(), noBlobs)) if (chunk.type === 'text') length += chunk.text.length
    expect(length).toBe(50_000_000)
  })
})
