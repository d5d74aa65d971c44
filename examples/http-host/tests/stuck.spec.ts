import { connect } from 'node:net'
import { createModelServer } from '@headrace/model-server'
import { until } from '@headrace/testing/gate'
import { afterEach, expect, it, onTestFinished } from 'vitest'
import { Client } from './client.ts'
import { Data, Host, KEY, TOKENS, expectNothingLeaked, heard } from './host.ts'
import { reply } from './model.ts'

afterEach(expectNothingLeaked)

/** Long enough for the readers of this test to get their turn on a busy machine; it is waited for, twice at once. */
const STALL = 5_000

it('turns and events are cut off from a reader that takes nothing; the turn goes on', async () => {
  const data = new Data()
  onTestFinished(() => data.remove())
  const model = await createModelServer((body) => reply(body), { apiKey: KEY })
  onTestFinished(() => model.close())
  const host = await Host.start(data, model.url, { streamsPerUser: 3, maxPrompt: 1_000, stall: STALL, heartbeat: 50, pieces: 5 })
  onTestFinished(async () => void await host.stop())
  const bob = new Client(host, 'bob')
  const id = await bob.create()
  const one = await stuck(host, `POST /sessions/${id}/turns`, JSON.stringify({ prompt: 'large 3900000' }))
  await ended(bob, id)
  expect((await (await bob.turn(id, 'large 3900000')).result()).text).toHaveLength(3_900_000)
  const two = await stuck(host, `GET /sessions/${id}/events?from=0`)
  // With these two he has as many as he may, until the one that takes nothing is cut off.
  const others = [await bob.events(id), await bob.events(id)]
  await until(async () => {
    const response = await bob.request('GET', `/sessions/${id}/events?follow=false`)
    await response.text()
    return response.status === 200
  })
  for (const stream of others) stream.leave()
  for (const socket of [one, two]) {
    const text = await socket.rest()
    const whole = /event: result|"turn\/end"[^]*"turn\/end"/.test(text)
    expect({ head: text.slice(0, 15), whole }).toEqual({ head: 'HTTP/1.1 200 OK', whole: false })
  }
  expect((await host.health()).body).toMatchObject({ ready: true, turns: 0 })
})

/** Waits until a turn has ended. */
async function ended(client: Client, id: string): Promise<void> {
  const stream = await client.events(id)
  await stream.until(({ data: said }) => (said as { type?: string }).type === 'turn/end')
  expect(stream.events.at(-1)!.data).toMatchObject({ reason: 'done' })
  stream.leave()
}

/** A request of whose answer nobody reads more than how it begins, until `rest`. Resolves when it was answered. */
async function stuck(host: Host, line: string, body = ''): Promise<{ rest(): Promise<string> }> {
  const { hostname, port } = new URL(host.url)
  const socket = connect(Number(port), hostname, () => {
    socket.write(`${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKENS.bob}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  })
  const parts: Buffer[] = []
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await new Promise<void>((resolve) => {
    socket.on('error', () => socket.destroy()).on('data', (part: Buffer) => parts.push(part)).once('data', () => {
      socket.pause()
      resolve()
    })
  })
  return {
    rest: async () => {
      socket.resume()
      await closed
      const text = Buffer.concat(parts).toString()
      heard('bob', text)
      return text
    },
  }
}
