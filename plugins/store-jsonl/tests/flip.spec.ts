import { describe, expect, it } from 'vitest'
import { figure } from '../../../test/reliability/figures.ts'
import { amount } from '../../../test/scale.ts'
import { TestLog, prompt, read, turn } from './logs.ts'

/** Opens the log as a reader and, where its end is touched, as a writer that repairs it. Says what came back wrong; refusing is right. */
async function wrongs(log: TestLog, bytes: Buffer, at: number, events: string): Promise<number> {
  log.bytes = bytes
  let wrong = 0
  const look = async (): Promise<void> => {
    const got = await read(log.store).catch(() => undefined)
    if (got && JSON.stringify(got) !== events) wrong++
  }
  await look()
  if (at < bytes.lastIndexOf('\n', -2)) return wrong
  await log.store.lease('a').then((lease) => lease.release().then(look), () => undefined)
  return wrong
}

const SINGLE_LAST = turn()
const LIST_LAST = [...turn(), [prompt('one'), prompt('two')]]

describe('a log of which one byte was changed', () => {
  it('is refused, or opens with equal events, for every bit of every byte', async () => {
    const log = new TestLog()
    const events = JSON.stringify(await log.write(...SINGLE_LAST))
    const whole = Buffer.from(log.bytes)
    let wrong = 0
    let flips = 0
    for (let at = 0; at < whole.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        if (flips++ % amount(13, 1) !== 0) continue
        const bytes = Buffer.from(whole)
        bytes[at]! ^= 1 << bit
        wrong += await wrongs(log, bytes, at, events)
      }
    }
    expect(wrong).toBe(0)
    figure('damage', 'jsonl', { flips: Math.ceil(flips / amount(13, 1)) })
  })

  it.each([['one event', SINGLE_LAST], ['a list', LIST_LAST]])('is refused, or opens with equal events, for every value of the bytes around a line end, with %s last', async (_, appends) => {
    const log = new TestLog()
    const events = JSON.stringify(await log.write(...appends))
    const whole = Buffer.from(log.bytes)
    const first = whole.indexOf('\n')
    const ends = [first - 1, first, first + 1, ...[-5, -4, -3, -2, -1].map((back) => whole.length + back)]
    let wrong = 0
    for (const at of ends) {
      for (let value = 0; value < 256; value += amount(17, 1)) {
        if (value === whole[at]) continue
        const bytes = Buffer.from(whole)
        bytes[at] = value
        wrong += await wrongs(log, bytes, at, events)
      }
    }
    expect(wrong).toBe(0)
  })

  it('is refused where a line is missing, stands twice, or stands elsewhere', async () => {
    const log = new TestLog()
    await log.write(...turn())
    const lines = log.bytes.toString().trimEnd().split('\n')
    const [a, b, c, ...rest] = lines
    for (const damaged of [[a, c, ...rest], [a, b, b, c, ...rest], [a, c, b, ...rest], [b, c, ...rest]]) {
      log.bytes = `${damaged.join('\n')}\n`
      await expect(read(log.store)).rejects.toMatchObject({ code: 'LOG_SEQ' })
    }
  })
})
