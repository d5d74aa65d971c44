import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { messageOf } from '@headrace/message'
import type { LogItem, SessionEvent } from '@headrace/session'
import { isBlobLine, itemsOf, linesOf } from './items.ts'
import { seedOf } from './line.ts'

/** A line that holds nothing sound, or events that are not there. */
export interface Lost {
  /** From 1. */
  readonly line: number
  /** Of its first byte in the file. */
  readonly offset: number
  readonly bytes: number
  readonly why: string
  /** The seqs that are missing in front of it, the last one included. */
  readonly missing?: readonly [from: number, to: number]
}

const CARRIAGE_RETURN = 0x0d
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Every sound event of a log file, an export or a store's own, however damaged, also where something gave it other line ends or a byte
 * order mark; and what was left out, in its place. A line is sound by itself: its sum matches, its events are events
 * and come behind the others.
 */
export async function* salvageLog(path: string): AsyncGenerator<LogItem | { readonly lost: Lost }> {
  let seed: string | undefined
  let [next, line, offset] = [0, 0, 0]
  for await (const { bytes, whole } of linesOf(createReadStream(path))) {
    line++
    const place = { line, offset, bytes: bytes.length }
    offset += bytes.length + 1
    const text = bare(bytes, line)
    if (text.length === 0) continue
    try {
      const items = itemsOf(text, seed ?? (line === 1 ? undefined : basename(path, '.jsonl')), isBlobLine(text) ? 'optional' : 'expected')
      const [first] = items
      if (first && 'seq' in first) {
        checkOrder(items as readonly SessionEvent[], next)
        if (first.seq > next) yield { lost: { ...place, why: missingWords(next, first.seq - 1), missing: [next, first.seq - 1] } }
        if (first.seq === 0) seed = seedOf(first)
        next = first.seq + items.length
      }
      yield* items
    } catch (error) {
      yield { lost: { ...place, why: `${messageOf(error)}${whole ? '' : ' (the last line, perhaps cut off)'}` } }
    }
  }
}

function missingWords(from: number, to: number): string {
  return from === to ? `event ${from} is missing in front of it` : `events ${from} to ${to} are missing in front of it`
}

/** A line without what an editor put around it. */
function bare(bytes: Buffer, line: number): Buffer {
  const start = line === 1 && bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0
  let end = bytes.length
  while (end > start && bytes[end - 1] === CARRIAGE_RETURN) end--
  return bytes.subarray(start, end)
}

function checkOrder(events: readonly SessionEvent[], next: number): void {
  events.forEach(({ seq }, index) => {
    if (seq < next) throw new Error(`event ${seq} stands twice, or out of order`)
    if (seq !== events[0]!.seq + index) throw new Error(`event ${seq} stands behind event ${events[index - 1]!.seq}`)
  })
}
