import { isUtf8 } from 'node:buffer'
import { crc32 } from 'node:zlib'
import { LogError, type SessionEvent, checkEvent, unknownField } from '@headrace/session'

// A line is one append: an event, or a list of events. Its last field is the CRC-32 of the line's bytes before it, so that a flipped
// bit anywhere is found, and the file stays JSON lines: {"seq":0,…,"sum":"1a2b3c4d"}   [{"seq":1,…},{"seq":2,…,"sum":"5e6f7a8b"}]
const MARK = Buffer.from(',"sum":"')
const HEX = 8
const TAIL = MARK.length + HEX + 2
const [QUOTE, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x22, 0x7d, 0x5b, 0x5d]

/** The line of one append, `\n` included, from the JSON of each event. */
export function encodeLine(json: readonly string[]): Buffer {
  const isList = json.length > 1
  const body = (isList ? `[${json.join(',')}` : json[0]!).slice(0, -1)
  return Buffer.from(`${body},"sum":"${crc32(body).toString(16).padStart(HEX, '0')}"}${isList ? ']' : ''}\n`)
}

/**
 * The events of the line at `start` to `end` (its `\n` left out). A line without a sum, written by hand or by another tool, is taken
 * where it is exact otherwise. Overwrites the bytes of the sum.
 *
 * @param sums `expected`: an event without a sum may have no field that is unknown, which may be what damage made of the sum
 * @throws SyntaxError where the bytes are no JSON, LogError where they are no events or the sum does not match
 */
export function decodeLine(bytes: Buffer, start: number, end: number, sums: 'expected' | 'optional' = 'expected'): readonly SessionEvent[] {
  const stop = closeBeforeSum(bytes, start, end)
  // With a sum that matches, the bytes are what an encoder wrote.
  if (stop === undefined && !isUtf8(bytes.subarray(start, end))) throw new SyntaxError('it is not UTF-8')
  const value = JSON.parse(bytes.toString('utf8', start, stop ?? end)) as unknown
  const events = (Array.isArray(value) ? value : [value]) as readonly unknown[]
  if (events.length === 0) throw new LogError('an empty list of events')
  for (const item of events) {
    const unknown = unknownField(checkEvent(item))
    if (unknown !== undefined && stop === undefined && sums === 'expected') throw new LogError(`it has no checksum, but a field ${JSON.stringify(unknown)}, which may be what is left of one`)
  }
  return events as readonly SessionEvent[]
}

/** Checks the sum and closes the JSON where it began, so that no field has to be deleted. Where the JSON now ends; undefined without a sum. */
function closeBeforeSum(bytes: Buffer, start: number, end: number): number | undefined {
  const isList = bytes[start] === OPEN_LIST
  const mark = end - TAIL - (isList ? 1 : 0)
  if (mark <= start || !isMark(bytes, mark) || (isList && bytes[end - 1] !== CLOSE_LIST)) return undefined
  if (crc32(bytes.subarray(start, mark)) !== sumAt(bytes, mark)) throw new LogError('its checksum does not match: at least one byte was changed', undefined, 'LOG_SUM')
  bytes[mark] = CLOSE
  if (isList) bytes[mark + 1] = CLOSE_LIST
  return mark + (isList ? 2 : 1)
}

/** True where a whole record, with its sum, stands at the beginning of these bytes, whatever follows it. */
export function beginsWithRecord(bytes: Buffer): boolean {
  const isList = bytes[0] === OPEN_LIST
  // The sum goes on from mark to mark: a tail that is full of them must not cost its square.
  let sum = 0
  let summed = 0
  for (let mark = bytes.indexOf(MARK); mark >= 0; mark = bytes.indexOf(MARK, mark + 1)) {
    if (!isMark(bytes, mark) || (isList && bytes[mark + TAIL] !== CLOSE_LIST)) continue
    sum = crc32(bytes.subarray(summed, mark), sum)
    summed = mark
    if (sum === sumAt(bytes, mark)) return true
  }
  return false
}

function isMark(bytes: Buffer, mark: number): boolean {
  for (let index = 0; index < MARK.length; index++) if (bytes[mark + index] !== MARK[index]) return false
  return bytes[mark + TAIL - 2] === QUOTE && bytes[mark + TAIL - 1] === CLOSE
}

/** The sum that stands behind a mark; -1 where it is none. */
function sumAt(bytes: Buffer, mark: number): number {
  let sum = 0
  for (let index = mark + MARK.length, last = index + HEX; index < last; index++) {
    const code = bytes[index]!
    const digit = code >= 0x30 && code <= 0x39 ? code - 0x30 : code >= 0x61 && code <= 0x66 ? code - 0x57 : -1
    if (digit < 0) return -1
    sum = sum * 16 + digit
  }
  return sum
}
