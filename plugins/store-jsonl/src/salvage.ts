import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { TextDecoder } from 'node:util'
import { messageOf } from '@headrace/message'
import type { LogItem, SessionEvent } from '@headrace/session'
import { isBlobLine, itemsOf, linesOf } from './items.ts'
import { endsWithSum, seedOf } from './line.ts'

/** A line without a sound event, or missing events. */
export interface Lost {
  /** From 1. */
  readonly line: number
  /** Of its first byte in the file. */
  readonly offset: number
  readonly bytes: number
  readonly why: string
  /** The seqs that are missing before it, both included. */
  readonly missing?: readonly [from: number, to: number]
}

const CARRIAGE_RETURN = 0x0d
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Every sound event of a log file, an export or a store's own, however damaged, also with other line ends, spaces
 * around lines, a byte order mark or UTF-16; and gaps where something was left out. Each line is judged by itself: its
 * sum matches, and its events are valid and come after the others.
 */
export async function* salvageLog(path: string): AsyncGenerator<LogItem | { readonly lost: Lost }> {
  let seeds = await seedsOf(path)
  let [next, line] = [0, 0]
  for await (const { bytes, offset, whole } of linesIn(path)) {
    line++
    const place = { line, offset, bytes: bytes.length }
    const text = bare(bytes, line)
    if (text.length === 0) continue
    try {
      const { items, seed } = soundItems(text, seeds)
      const [first] = items
      if (first && 'seq' in first) {
        checkOrder(items as readonly SessionEvent[], next)
        if (first.seq > next) yield { lost: { ...place, why: missingWords(next, first.seq - 1), missing: [next, first.seq - 1] } }
        // After the first sum that is right, a line with another seed belongs to another log.
        if (endsWithSum(text)) seeds = [seed ?? seedOf(first)]
        next = first.seq + items.length
      }
      yield* items
    } catch (error) {
      yield { lost: { ...place, why: `${messageOf(error)}${whole ? '' : ' (the last line, perhaps cut off)'}` } }
    }
  }
}

/**
 * Possible seeds of the checksums: the id in the log's first event, wherever that is and however damaged; the file's
 * name.
 */
async function seedsOf(path: string): Promise<readonly Seed[]> {
  const seeds = new Set<string>()
  for await (const { bytes } of linesIn(path)) {
    const id = BEGINNING.test(bytes.toString('latin1', 0, 20)) ? ID.exec(bytes.toString('utf8'))?.[1] : undefined
    if (id !== undefined && seeds.size < MOST_SEEDS) seeds.add(JSON.parse(id) as string)
  }
  // A first event has the seed of its own sum.
  return [...seeds.add(basename(path, '.jsonl')), undefined]
}

const BEGINNING = /^[^"]{0,4}"seq":0,/
const ID = /"id":("(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-f]{4})*")/
const MOST_SEEDS = 8

/** The seed of a log's checksums; undefined for the one in the line itself. */
type Seed = string | undefined

/** The items of a line, and the seed with which its sum is right. @throws the error of the first seed */
function soundItems(text: Buffer, seeds: readonly Seed[]): { readonly items: readonly LogItem[]; readonly seed: Seed } {
  let failure: { readonly error: unknown } | undefined
  for (const seed of seeds) {
    try {
      // A copy: decoding overwrites bytes.
      return { items: itemsOf(Buffer.from(text), seed, isBlobLine(text) ? 'optional' : 'expected'), seed }
    } catch (error) {
      failure ??= { error }
    }
  }
  throw failure!.error
}

interface Line {
  readonly bytes: Buffer
  readonly offset: number
  readonly whole: boolean
}

/** The lines of a file, with any line ends: a JSON line contains no carriage return. */
async function* linesIn(path: string): AsyncGenerator<Line> {
  let offset = 0
  for await (const { bytes, whole } of linesOf(utf8(createReadStream(path)))) {
    for (let start = 0; start <= bytes.length;) {
      const at = bytes.indexOf(CARRIAGE_RETURN, start)
      const end = at < 0 ? bytes.length : at
      yield { bytes: bytes.subarray(start, end), offset: offset + start, whole: whole || at >= 0 }
      start = at < 0 || at === bytes.length - 1 ? Infinity : at + 1
    }
    offset += bytes.length + 1
  }
}

/** The bytes as UTF-8, also of a file saved as UTF-16. */
async function* utf8(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let decoder: TextDecoder | undefined
  let isFirst = true
  for await (const bytes of source) {
    if (isFirst && bytes[0] === 0xff && bytes[1] === 0xfe) decoder = new TextDecoder('utf-16le')
    if (isFirst && bytes[0] === 0xfe && bytes[1] === 0xff) decoder = new TextDecoder('utf-16be')
    isFirst = false
    yield decoder ? Buffer.from(decoder.decode(bytes, { stream: true })) : bytes
  }
}

function missingWords(from: number, to: number): string {
  return from === to ? `event ${from} is missing in front of it` : `events ${from} to ${to} are missing in front of it`
}

/** A line without what an editor added around it. */
function bare(bytes: Buffer, line: number): Buffer {
  let start = line === 1 && bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0
  let end = bytes.length
  while (end > start && isBlank(bytes[end - 1]!)) end--
  while (end > start && isBlank(bytes[start]!)) start++
  return bytes.subarray(start, end)
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09
}

function checkOrder(events: readonly SessionEvent[], next: number): void {
  events.forEach(({ seq }, index) => {
    if (seq < next) throw new Error(`event ${seq} stands twice, or out of order`)
    if (seq !== events[0]!.seq + index) throw new Error(`event ${seq} stands behind event ${events[index - 1]!.seq}`)
  })
}
