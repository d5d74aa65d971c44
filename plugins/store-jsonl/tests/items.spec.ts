import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { sha256 } from '@headrace/message'
import type { LogItem, SessionEvent } from '@headrace/session'
import { blobLine, readItems, readLog } from '@headrace/plugin-store-jsonl'
import { TestLog, event, opening, prompt } from './logs.ts'

const bytes = new Uint8Array([0, 250, 10, 13])
const blob = { blob: sha256(bytes), bytes }
const ONE = JSON.stringify(event(0, opening()))
const TWO = JSON.stringify(event(1, prompt('Grüße 🌍')))

/** The text in pieces of some bytes, out of one buffer that is used again. */
async function *pieces(text: string, size: number): AsyncIterable<Uint8Array> {
  const all = Buffer.from(text)
  const buffer = Buffer.alloc(size)
  for (let start = 0; start < all.length; start += size) yield buffer.subarray(0, all.copy(buffer, 0, start, start + size))
}

async function read(text: string, size = 7): Promise<LogItem[]> {
  const items: LogItem[] = []
  for await (const item of readItems(pieces(text, size), 'stdin')) items.push(item)
  return items
}

describe('readItems', () => {
  it('gives events and blobs, however the bytes are cut, with a last newline or without', async () => {
    const text = [ONE, blobLine(blob), TWO].join('\n')
    for (const size of [1, 2, 7, 1000]) {
      for (const end of ['', '\n']) expect(await read(text + end, size)).toEqual([JSON.parse(ONE), blob, JSON.parse(TWO)])
    }
    expect(await read('')).toEqual([])
  })

  it('reads a log\'s own file, its sums checked, several events a line', async () => {
    const log = new TestLog()
    await log.write([opening()], [prompt('one'), prompt('two')])
    const text = log.bytes.toString()
    expect((await read(text)).map((item) => (item as SessionEvent).seq)).toEqual([0, 1, 2])
    await expect(read(text.replace('two', 'too'))).rejects.toThrow('stdin: line 2: its checksum does not match')
  })

  it.each([
    ['no JSON', `${ONE}\n{"seq":1,\n${TWO}\n`, /stdin: line 2: /],
    ['an empty line', `${ONE}\n\n${TWO}\n`, /stdin: line 2: /],
    ['what is no event', `${ONE}\n[1]\n`, /line 2: a record that is not an object/],
    ['a blob without bytes', '{"blob":"x"}\n', /line 1: a blob that has no bytes/],
    ['a last line that is cut off', `${ONE}\n${TWO.slice(0, -3)}`, /line 2, the last one, may be cut off: /],
  ])('refuses %s, with the line', async (_, text, message) => {
    await expect(read(text)).rejects.toThrow(message)
  })

  it('of an export, readLog gives the events', async () => {
    const log = new TestLog()
    await log.write([opening()])
    const path = log.path.replace(/[^/]*$/, 'export.jsonl')
    writeFileSync(path, [ONE, blobLine(blob), TWO, ''].join('\n'))
    const events: unknown[] = []
    for await (const batch of readLog(path)) events.push(...batch)
    expect(events).toEqual([JSON.parse(ONE), JSON.parse(TWO)])
  })

  it('a blob line in a store\'s own log is damage', async () => {
    const log = new TestLog()
    await log.write([opening()])
    log.bytes = Buffer.concat([log.bytes, Buffer.from(`${blobLine(blob)}\n`)])
    await expect(log.read()).rejects.toThrow(/line 2/)
  })
})
