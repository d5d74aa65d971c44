import { isUtf8 } from 'node:buffer'
import { crc32 } from 'node:zlib'
import { LogError, type SessionEvent, checkEvent, seededSum, sumText, unknownField } from '@headrace/session'

// A line is one append: an event, or a list of events. Its last field is the CRC-32 of the line's bytes before it,
// begun from the session's id and the seq of its first event, so that a flipped bit and a line from another place are
// detected, and the file stays JSON lines: {"seq":0,…,"sum":"1a2b3c4d"}   [{"seq":1,…},{"seq":2,…,"sum":"5e6f7a8b"}]
const MARK = Buffer.from(',"sum":"')
const SEQ = Buffer.from('{"seq":')
const HEX = 8
const TAIL = MARK.length + HEX + 2
const [QUOTE, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x22, 0x7d, 0x5b, 0x5d]

// Lines are written as soon as they are made, so they share one buffer; a long one gets its own.
const scratch = Buffer.allocUnsafeSlow(256 * 1024)

/**
 * The line of one append, `\n` included, from the JSON of each event. The bytes are valid until the next call.
 *
 * @param seq of the first event
 */
export function encodeLine(id: string, seq: number, json: readonly string[]): Buffer {
  const isList = json.length > 1
  const text = isList ? `[${json.join(',')}` : json[0]!
  const line = text.length * 3 + TAIL + 2 <= scratch.length ? scratch : Buffer.allocUnsafe(Buffer.byteLength(text) + TAIL + 2)
  // Without its last bracket, which follows the sum.
  const end = line.write(text) - 1
  const sum = sumText(seededSum(id, seq, line.subarray(0, end)))
  return line.subarray(0, end + line.write(`,"sum":"${sum}"}${isList ? ']' : ''}\n`, end, 'latin1'))
}

/**
 * The events of the line at `start` to `end` (its `\n` left out). A line without a sum, written by hand or by another
 * tool, is accepted where everything else is exact. Overwrites the bytes of the sum.
 *
 * @param id the session's; undefined for a log's first line, which has it
 * @param sums `expected`: an event without a sum may have no unknown field, which may be a damaged sum
 * @throws SyntaxError where the bytes are not JSON, LogError where they are not events or the sum does not match
 */
export function decodeLine(bytes: Buffer, start: number, end: number, id: string | undefined, sums: 'expected' | 'optional' = 'expected'): readonly SessionEvent[] {
  const saved = savedAnew(bytes, start, end)
  if (saved !== undefined) throw new LogError(saved, undefined, 'LOG_LINE_ENDS')
  const mark = markOf(bytes, start, end)
  // With a sum that matches, the bytes are what an encoder wrote.
  if (mark === undefined && !isUtf8(bytes.subarray(start, end))) throw new SyntaxError('it is not UTF-8')
  // A log that does not begin with its first event is refused for that.
  const isFirst = id === undefined && (seqAt(bytes, start, end) ?? 0) === 0
  if (mark !== undefined && (isFirst || id !== undefined)) checkSum(bytes, start, mark, id ?? idOfFirst(bytes.toString('utf8', start, mark)))
  const value = JSON.parse(bytes.toString('utf8', start, mark === undefined ? end : closeAt(bytes, start, mark))) as unknown
  const events = (Array.isArray(value) ? value : [value]) as readonly unknown[]
  if (events.length === 0) throw new LogError('an empty list of events')
  for (const item of events) {
    const unknown = unknownField(checkEvent(item))
    if (unknown !== undefined && mark === undefined && sums === 'expected') throw new LogError(`it has no checksum, but a field ${JSON.stringify(unknown)}, which may be what is left of one`)
  }
  return events as readonly SessionEvent[]
}

/** Traces of an editor or a copy in a line, whose bytes are not the written ones any more. */
function savedAnew(bytes: Buffer, start: number, end: number): string | undefined {
  if (bytes[end - 1] === 0x0d) return 'it ends in a carriage return: something saved the file with other line ends'
  const isMarked = bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf
  return isMarked ? 'it begins with a byte order mark: something saved the file anew' : undefined
}

/** The id in a log's first event; empty where it has none. The seed of the sums of its lines. */
export function seedOf({ data }: SessionEvent): string {
  const { id } = data as { readonly id?: unknown }
  return typeof id === 'string' ? id : ''
}

/** The same, from the text of its line before the sum. */
function idOfFirst(text: string): string {
  try {
    const value = JSON.parse(text.startsWith('[') ? `${text}}]` : `${text}}`) as SessionEvent | readonly SessionEvent[]
    return seedOf(Array.isArray(value) ? (value as readonly SessionEvent[])[0]! : value as SessionEvent)
  } catch {
    // Then it is no event, and its sum cannot be right.
    return ''
  }
}

/**
 * The seq of a line's first event, from the line's first bytes; undefined where it is not at the place where the
 * encoder writes it.
 */
export function seqAt(bytes: Buffer, start: number, end = bytes.length): number | undefined {
  const from = start + SEQ.length + (bytes[start] === OPEN_LIST ? 1 : 0)
  if (from > end || bytes.compare(SEQ, 0, SEQ.length, from - SEQ.length, from) !== 0) return undefined
  let seq = 0
  let at = from
  for (; at < end && bytes[at]! >= 0x30 && bytes[at]! <= 0x39 && seq < 1e15; at++) seq = seq * 10 + bytes[at]! - 0x30
  return at === from || at === end ? undefined : seq
}

/** Where the sum of a line begins; undefined where it has none. */
function markOf(bytes: Buffer, start: number, end: number): number | undefined {
  const isList = bytes[start] === OPEN_LIST
  const mark = end - TAIL - (isList ? 1 : 0)
  return mark <= start || !isMark(bytes, mark) || (isList && bytes[end - 1] !== CLOSE_LIST) ? undefined : mark
}

/** @throws LogError */
function checkSum(bytes: Buffer, start: number, mark: number, id: string): void {
  const seq = seqAt(bytes, start, mark)
  if (seq !== undefined && seededSum(id, seq, bytes.subarray(start, mark)) === sumAt(bytes, mark)) return
  throw new LogError('its checksum does not match: at least one byte was changed, or the line is of another log', undefined, 'LOG_SUM')
}

/** Closes the JSON where the sum began, so that no field has to be deleted. Returns where it now ends. */
function closeAt(bytes: Buffer, start: number, mark: number): number {
  bytes[mark] = CLOSE
  if (bytes[start] !== OPEN_LIST) return mark + 1
  bytes[mark + 1] = CLOSE_LIST
  return mark + 2
}

/** True where these bytes begin with a whole record, with its sum, whatever follows it. */
export function beginsWithRecord(bytes: Buffer, id: string | undefined): boolean {
  const isList = bytes[0] === OPEN_LIST
  const seq = seqAt(bytes, 0)
  if (seq === undefined) return false
  // The sum is continued from mark to mark: a tail full of marks must not take quadratic time.
  let sum = seededSum(id ?? /"id":"([^"]*)"/.exec(bytes.toString('utf8'))?.[1] ?? '', seq, '')
  let summed = 0
  for (let mark = bytes.indexOf(MARK); mark >= 0; mark = bytes.indexOf(MARK, mark + 1)) {
    if (!isMark(bytes, mark) || (isList && bytes[mark + TAIL] !== CLOSE_LIST)) continue
    sum = crc32(bytes.subarray(summed, mark), sum)
    summed = mark
    if (sum === sumAt(bytes, mark)) return true
  }
  return false
}

/** True where the end looks like the end of a whole record. */
export function endsWithSum(bytes: Buffer): boolean {
  return isMark(bytes, bytes.length - TAIL) || (bytes.at(-1) === CLOSE_LIST && isMark(bytes, bytes.length - TAIL - 1))
}

function isMark(bytes: Buffer, mark: number): boolean {
  for (let index = 0; index < MARK.length; index++) if (bytes[mark + index] !== MARK[index]) return false
  return bytes[mark + TAIL - 2] === QUOTE && bytes[mark + TAIL - 1] === CLOSE
}

/** The sum after a mark; -1 where there is none. */
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
