import { LogError, type SessionEvent } from '@headrace/session'
import { beginsWithRecord, decodeLine, endsWithSum } from './line.ts'

/** The bytes after the last `\n` of a log: none, a whole record that lacks only its `\n`, or the rest of a torn one. */
export interface Tail {
  readonly events: readonly SessionEvent[]
  /** Bytes of the whole record; 0 for a torn one. */
  readonly whole: number
  /** Bytes to cut off after that. */
  readonly torn: number
}

/**
 * Tells a torn tail from a damaged one: a write that was cut short leaves the beginning of a record, perhaps with NUL
 * bytes where a power cut lost a page, but never a whole record followed by something else.
 *
 * @throws LogError where it is damaged
 */
export function judgeTail(bytes: Buffer, next: number, seed: string | undefined): Tail {
  let whole = bytes.length
  while (whole > 0 && bytes[whole - 1] === 0) whole--
  const torn = { events: [], whole: 0, torn: bytes.length }
  if (whole === 0) return torn
  const events: SessionEvent[] = []
  try {
    accept(decodeLine(bytes, 0, whole, seed), next, events)
    return { events, whole, torn: bytes.length - whole }
  } catch (error) {
    const rest = bytes.subarray(0, whole)
    if ((!(error instanceof SyntaxError) || endsWithSum(rest)) && !isBeginning(rest)) throw error
    if (beginsWithRecord(bytes, seed)) throw new LogError('a record is followed by something else on its line')
    return torn
  }
}

/**
 * True for the beginning of a line that was cut after a value: only brackets are missing. It may look like a line with
 * a sum, where it was cut right after a field of its data that looks like one.
 */
function isBeginning(bytes: Buffer): boolean {
  const text = bytes.toString('utf8')
  const open: string[] = []
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{}]/gs)) {
    if (token === '{' || token === '[') open.push(token === '{' ? '}' : ']')
    else if (token === '}' || token === ']') open.pop()
  }
  try {
    JSON.parse(text + open.reverse().join(''))
    return open.length > 0
  } catch {
    return false
  }
}

/** Adds a line's events where their seqs continue from `next`; returns the next seq. */
export function accept(line: readonly SessionEvent[], next: number, into: SessionEvent[]): number {
  for (const event of line) {
    if (event.seq !== next) throw new LogError(`seq ${event.seq} stands where ${next} comes next: ${event.seq > next ? 'events are missing' : 'events stand twice or out of order'}`, undefined, 'LOG_SEQ')
    next++
    into.push(event)
  }
  return next
}
