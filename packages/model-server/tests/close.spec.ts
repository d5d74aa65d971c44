import { ModelServerError, createModelServer } from '@headrace/model-server'
import { execFile } from 'node:child_process'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { HANG, until } from '@headrace/testing/gate'
import { describe, expect, it } from 'vitest'
import { HELLO, first, post, stream } from './client.ts'

/** In a process of its own, which ends when nothing holds it any more. */
const CHILD = `
  import { createModelServer } from ${JSON.stringify(new URL('../lib/index.js', import.meta.url).href)}
  const server = await createModelServer((_, { index }) => index === 0
    ? { text: 'slow', delay: 3_600_000 }
    : index === 1 ? { error: { status: 500 }, delay: 3_600_000 } : index === 2 ? { hang: true } : new Promise(() => {}))
  const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'x' }] })
  const answers = [0, 1, 2, 3].map(() => fetch(server.url + '/chat/completions', { method: 'POST', body }).catch(() => {}))
  while (server.requests.length < 4) await new Promise((resolve) => setImmediate(resolve))
  await server.close()
  await Promise.all(answers)
  console.log(server.requests.map((request) => request.outcome).join())
`

describe('close()', () => {
  it('ends a stream, a stall, a hang and a script that waits', async () => {
    const server = await createModelServer((_, { index }) => {
      switch (index) {
        case 0: return { text: 'slow', delay: 60_000, chunkSize: 1 }
        case 1: return { text: 'stalled', stallAfter: 1 }
        case 2: return { hang: true }
        case 3: return { error: { status: 500 }, delay: 60_000 }
        default: return new Promise(() => {})
      }
    })
    const streams = [await stream(server), await stream(server)]
    await Promise.all(streams.map(async (response) => first(response.clone())))
    const waiting = [post(server, {}), post(server, {}), post(server, {})].map((promise) => promise.then(() => 'answered', () => 'cut'))
    await until(() => server.requests.length === 5)
    await server.close()
    expect(await Promise.all(waiting)).toEqual(['cut', 'cut', 'cut'])
    for (const response of streams) await expect(response.text()).rejects.toThrow()
    expect(server.requests.map((request) => request.outcome)).toEqual(Array(5).fill('closed'))
    await expect(post(server, {})).rejects.toThrow()
  })

  it('ends connections that are idle, and pipelined requests that wait for another', async () => {
    const server = await createModelServer(() => ({ hang: true }))
    const body = JSON.stringify({ model: 'm', messages: HELLO })
    const one = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const sockets = ['', one + one].map((text) => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
      socket.on('error', () => {}).write(text)
      return new Promise((resolve) => socket.on('close', resolve))
    })
    await until(() => server.requests.length === 2)
    await server.close()
    await Promise.all(sockets)
    expect(server.requests.map((request) => request.outcome)).toEqual(['closed', 'closed'])
  })

  it('leaves nothing that keeps a process alive', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', CHILD], { timeout: HANG })
    expect(stdout).toBe('closed,closed,closed,closed\n')
  })

  it('may be called twice, and is what `await using` calls', async () => {
    const server = await createModelServer(() => 'ok')
    await Promise.all([server.close(), server.close()])
    await server[Symbol.asyncDispose]()
    await expect(post(server, {})).rejects.toThrow()
  })
})

describe('listening', () => {
  it('is on loopback, on a port of its own, or the one it is given', async () => {
    const [one, two] = [await createModelServer(() => 'ok'), await createModelServer(() => 'ok')]
    expect(one.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/)
    expect(two.url).not.toBe(one.url)
    const port = Number(new URL(two.url).port)
    await two.close()
    const again = await createModelServer(() => 'ok', { port })
    expect(again.url).toBe(two.url)
    await Promise.all([one.close(), again.close()])
  })

  it('fails by name where somebody else listens', async () => {
    const server = await createModelServer(() => 'ok')
    const port = Number(new URL(server.url).port)
    const second = createModelServer(() => 'ok', { port })
    await expect(second).rejects.toThrow(ModelServerError)
    await expect(second).rejects.toThrow(`127.0.0.1 port ${port}`)
    await server.close()
  })
})
