import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { some } from '../../../test/scale.ts'
import { TestLog, append, event, opening, prompt, read } from './logs.ts'

const ONE = JSON.stringify(event(0, opening()))
const TWO = JSON.stringify(event(1, prompt('two')))

/** Opens for writing, appends one more event, and gives what opening repaired and how many events there are then. */
async function goOn(log: TestLog, next: number): Promise<{ readonly repaired: unknown; readonly events: number }> {
  const lease = await log.store.lease('a')
  append(lease, next, prompt('goes on'))
  await lease.release()
  return { repaired: lease.repaired, events: (await log.read()).length }
}

describe('the end of a log', () => {
  it.each([
    ['a torn record', '{"a":1'],
    ['half a character', TWO.slice(0, -40) + '\xe4\xbf'],
    ['the beginning of a list', `[${TWO},{"seq":2`],
    ['NUL bytes', '\0'.repeat(300)],
    ['a record with a hole of NUL bytes', `${TWO.slice(0, 40)}${'\0'.repeat(20)}${TWO.slice(60)}`],
    ['one byte', '{'],
  ])('is cut off and reported where it is %s, and an append is not glued to it', async (_, torn) => {
    const log = new TestLog()
    await log.write([opening()], [prompt('one')])
    const offset = log.bytes.length
    const tail = Buffer.from(torn, 'latin1')
    log.bytes = Buffer.concat([log.bytes, tail])
    expect(await log.read()).toHaveLength(2)
    expect(await goOn(log, 2)).toEqual({ repaired: { offset, bytes: tail.length }, events: 3 })
  })

  it('costs its length where it is full of what looks like sums, not its square', async () => {
    const log = new TestLog()
    await log.write([opening()])
    // Three megabytes of marks: their square is hours.
    log.bytes = Buffer.concat([log.bytes, Buffer.from(`{${',"sum":"00000000"}'.repeat(170_000)} torn`)])
    expect(await log.read()).toHaveLength(1)
  })

  it('is cut off at every byte of the last record, and each time the log opens without it', async () => {
    const log = new TestLog()
    // Fields that look like a sum, at the end of an object and of a list.
    const looks = { type: 'note/kept', data: { deep: [{ sum: '01234567' }], sum: '89abcdef' } } as never
    await log.write([opening()], [prompt('é'), looks, prompt('\u{1F600}'), looks])
    const whole = Buffer.from(log.bytes)
    const first = whole.indexOf('\n') + 1
    const lengths = Array.from({ length: whole.length - 2 - first }, (_, index) => first + 1 + index)
    const closed = lengths.filter((length) => /["\]}]\}$/.test(whole.toString('latin1', 0, length)))
    for (const length of new Set([...some(lengths, 50), ...closed])) {
      log.bytes = whole.subarray(0, length)
      expect(await log.read()).toHaveLength(1)
      expect(await goOn(log, 1)).toEqual({ repaired: { offset: first, bytes: length - first }, events: 2 })
    }
  })

  it('is damaged, not cut, where a whole record without its \\n has a bit changed', async () => {
    const log = new TestLog()
    await log.write([opening()], [prompt('"one"')])
    const whole = Buffer.from(log.bytes)
    const sum = whole.length - ',"sum":"00000000"}\n'.length
    for (let at = whole.indexOf('\n') + 1; at < sum; at++) {
      log.bytes = whole.subarray(0, -1).map((byte, index) => (index === at ? byte ^ (1 << (at % 8)) : byte))
      await expect(log.read()).rejects.toMatchObject({ name: 'StoreError' })
    }
  })

  it('keeps a whole record whose \\n is missing, and says so', async () => {
    const log = new TestLog()
    await log.write([opening()], [prompt('one')])
    const length = log.bytes.length - 1
    log.bytes = log.bytes.subarray(0, length)
    expect(await log.read()).toHaveLength(2)
    expect(await goOn(log, 2)).toEqual({ repaired: { offset: length, bytes: 0 }, events: 3 })
  })

  it('keeps a whole record whose \\n a power cut made a NUL', async () => {
    const log = new TestLog()
    await log.write([opening()], [prompt('one')])
    const length = log.bytes.length - 1
    log.bytes = Buffer.concat([log.bytes.subarray(0, length), Buffer.alloc(100)])
    expect(await log.read()).toHaveLength(2)
    expect(await goOn(log, 2)).toEqual({ repaired: { offset: length, bytes: 100 }, events: 3 })
  })

  it('is refused, not cut, where a whole record is followed by something else', async () => {
    const log = new TestLog()
    await log.write([opening()], [prompt('one')])
    log.bytes = Buffer.concat([log.bytes.subarray(0, -1), Buffer.from('{"seq":2')])
    await expect(log.store.lease('a')).rejects.toMatchObject({ code: 'LOG_DAMAGED' })
    await expect(log.read()).rejects.toMatchObject({ code: 'LOG_DAMAGED' })
  })

  it('opens an empty file, and one with its first record only', async () => {
    const log = new TestLog()
    log.bytes = ''
    expect(await log.read()).toEqual([])
    expect(await goOn(log, 0)).toEqual({ repaired: undefined, events: 1 })
    log.bytes = `${ONE}\n`
    expect(await goOn(log, 1)).toEqual({ repaired: undefined, events: 2 })
  })
})

describe('the middle of a log', () => {
  it.each([
    ['a bad line', '{"seq":1,', 'LOG_DAMAGED'],
    ['an empty line', '', 'LOG_DAMAGED'],
    ['two records on one line', TWO + TWO, 'LOG_DAMAGED'],
    ['300 NUL bytes', '\0'.repeat(300), 'LOG_DAMAGED'],
    ['bytes that are not UTF-8', TWO.replace('two', 't\xffo'), 'LOG_DAMAGED'],
    ['no event', '[]', 'LOG_DAMAGED'],
    ['an unknown field', TWO.replace(/}$/, ',"sun":"00000000"}'), 'LOG_DAMAGED'],
    ['a wrong checksum', TWO.replace(/}$/, ',"sum":"00000000"}'), 'LOG_SUM'],
    ['a gap in seq', TWO.replace('"seq":1', '"seq":2'), 'LOG_SEQ'],
    ['a duplicate seq', TWO.replace('"seq":1', '"seq":0'), 'LOG_SEQ'],
    ['an unknown required type', TWO.replace('prompt/queued', 'prompt/unheard').replace('}', '},"required":true').replace(/(,"required":true)(.*)}$/, '$2,"required":true}'), 'LOG_UNKNOWN_REQUIRED'],
  ])('is refused with file, line and offset where it has %s', async (_, line, code) => {
    const log = new TestLog()
    log.bytes = Buffer.from(`${ONE}\n${line}\n${JSON.stringify(event(2, prompt('three')))}\n`, 'latin1')
    const seen: number[] = []
    const reading = async (): Promise<void> => {
      for await (const batch of log.store.load('a')) seen.push(...batch.map(({ seq }) => seq))
    }
    await expect(reading()).rejects.toMatchObject({ name: 'StoreError', code })
    await expect(log.read()).rejects.toThrow(`line 2 at byte ${ONE.length + 1} of ${log.path}`)
    expect(seen).toEqual([0])
    if (code !== 'LOG_UNKNOWN_REQUIRED') await expect(log.read()).rejects.toThrow('--salvage')
  })

  it('is refused at once, before a lease is given, where the last line is damaged', async () => {
    const log = new TestLog()
    log.bytes = `${ONE}\n${TWO}\n{"seq":2\n`
    await expect(log.store.lease('a')).rejects.toThrow(`line 3 at byte ${ONE.length + TWO.length + 2} of ${log.path}`)
    log.bytes = `${ONE}\n${TWO}\n`
    expect(await goOn(log, 2)).toMatchObject({ events: 3 })
  })

  it('takes lines without a checksum, written by hand', async () => {
    const log = new TestLog()
    log.bytes = `${ONE}\n[${TWO}, ${JSON.stringify(event(2, prompt('three')))}]\n`
    expect(await goOn(log, 3)).toEqual({ repaired: undefined, events: 4 })
  })

  it('has one record a line, whose sum is the CRC-32 of the bytes before it, begun from the session and the first seq', async () => {
    const log = new TestLog()
    await log.write([opening()], [prompt('\u2028\u2029\u0085'), prompt('é')])
    const lines = log.bytes.toString().split('\n')
    expect(lines).toHaveLength(3)
    expect(lines[2]).toBe('')
    expect((JSON.parse(lines[1]!) as unknown[]).length).toBe(2)
    for (const [seq, line] of lines.slice(0, 2).entries()) {
      const [body, sum] = line.split(/,"sum":"(?=[0-9a-f]{8}"}]?$)/)
      expect(sum!.slice(0, 8)).toBe(crc32(body!, crc32(`a/${seq}/`)).toString(16).padStart(8, '0'))
    }
  })

  it('is read across chunks, whatever the length of its lines', async () => {
    const log = new TestLog()
    const lengths = [1, 262_144 - 200, 262_144, 700_000, 3, 262_100, 40]
    const events = await log.write([opening()], ...lengths.map((length) => [prompt('é'.repeat(length)), prompt('x')]))
    expect(JSON.stringify(await log.read()) === JSON.stringify(events)).toBe(true)
    const lease = await log.store.lease('a')
    expect(() => append(lease, events.length + 1, prompt('a gap'))).toThrow('cannot be appended')
    await lease.release()
  })

  it('is read once more where a writer cut a torn tail off meanwhile', async () => {
    const log = new TestLog()
    await log.write([opening()], [prompt('x'.repeat(300_000))])
    log.bytes = Buffer.concat([log.bytes, Buffer.from('{"seq":2,"time":1,"type":"ste')])
    const reader = log.store.load('a')[Symbol.asyncIterator]()
    await reader.next() // has read the torn tail into its buffer by the end of the next
    await reader.next()
    await goOn(log, 2)
    const { value } = (await reader.next()) as { value?: readonly { readonly seq: number }[] }
    expect(value?.map(({ seq }) => seq)).toEqual([2])
    await reader.return?.()
  })

  it('is listed with its error where its first line cannot be read', async () => {
    const log = new TestLog()
    await log.write([opening()])
    const bytes = Buffer.from(log.bytes)
    bytes[20]! ^= 1
    log.bytes = bytes
    const sessions = []
    for await (const session of log.store.list()) sessions.push(session)
    expect(sessions).toMatchObject([{ id: 'a', size: bytes.length, error: expect.stringContaining('line 1 at byte 0') as unknown }])
    expect(await read(log.store).catch((error: unknown) => (error as { code: string }).code)).toBe('LOG_SUM')
  })
})
