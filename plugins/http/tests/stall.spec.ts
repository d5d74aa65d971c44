import { connect } from 'node:net'
import { until } from '@headrace/testing/gate'
import { expect, it, onTestFinished } from 'vitest'
import { Stream, TOKEN, app, isTurnEnd } from './kit.ts'

it('a reader that takes nothing is cut off, and its place is free again; the turn goes on', async () => {
  // More than the system's own buffers take.
  const [size, steps] = [3_900_000, 6]
  const one = await app({
    script: (_, index) => (index < steps ? { text: 'x'.repeat(size), calls: [{ name: 'go' }] } : 'done'),
    options: { streamsPerUser: 1, stall: 1_000, heartbeat: 50 },
    setup: (ctx) => void ctx.tools.define({ name: 'go', description: 'goes', parameters: { type: 'object' }, execute: () => 'on' }),
  })
  const id = await one.create()
  await one.json('POST', `/sessions/${id}/prompt`, { prompt: 'Go.' })
  await until(async () => (await one.json<{ turn?: { reason?: string } }>('GET', `/sessions/${id}`)).body.turn?.reason === 'done')
  const { hostname, port } = new URL((await one.listen()).url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  socket.write(`GET /sessions/${id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`)
  await new Promise<void>((resolve) => socket.once('readable', resolve))
  // It is read no more until the server has given up.
  await until(async () => {
    const response = await one.call('GET', `/sessions/${id}/events`)
    if (response.status !== 200) return false
    const stream = new Stream(response)
    await stream.until(isTurnEnd)
    return true
  })
  let text = ''
  socket.setEncoding('latin1').on('error', () => undefined).on('data', (part: string) => { text += part })
  await new Promise((resolve) => socket.once('close', resolve))
  expect([text.slice(0, 15), text.includes('"turn/end"')]).toEqual(['HTTP/1.1 200 OK', false])
})
