import { messageOf } from '@headrace/message'
import { LogError, type LogBlob, type LogItem } from '@headrace/session'
import { decodeLine, seedOf } from './line.ts'

// Outside a store a blob is a line of its own, in front of the first event that names it: {"blob":"<digest>","bytes":"<base64>"}
const BLOB = Buffer.from('{"blob":"')
/** Marks missing events in a salvaged log: {"gap":[from,to]}, both included. */
const GAP = Buffer.from('{"gap":[')
const NEWLINE = 0x0a

/** Missing events as a line of a salvaged log, without its `\n`. */
export function gapLine(gap: readonly [from: number, to: number]): string {
  return JSON.stringify({ gap })
}

/** A blob as a line of an export, without its `\n`. */
export function blobLine({ blob, bytes }: LogBlob): string {
  return JSON.stringify({ blob, bytes: Buffer.from(bytes).toString('base64') })
}

/** True for a line, from `start` on, that holds a blob. */
export function isBlobLine(bytes: Buffer, start = 0): boolean {
  return beginsWith(bytes, BLOB, start)
}

/** The digest that a blob's line names, without reading its bytes. */
export function blobNamed(bytes: Buffer): string | undefined {
  if (!isBlobLine(bytes)) return undefined
  const end = bytes.indexOf('"', BLOB.length)
  return end < 0 ? undefined : bytes.toString('utf8', BLOB.length, end)
}

function beginsWith(bytes: Buffer, words: Buffer, start = 0): boolean {
  return bytes.compare(words, 0, words.length, start, Math.min(start + words.length, bytes.length)) === 0
}

/**
 * Events and blobs of JSON lines: an export, or a log's own file, with sums or without. In memory bounded by the
 * longest line.
 *
 * @param onGap called where a salvaged log has a gap: nothing after it is read
 * @throws LogError that names the line, also for a last one that is cut off
 */
export async function* readItems(
  source: AsyncIterable<Uint8Array>,
  name: string,
  onGap?: (from: number, to: number) => void,
): AsyncIterable<LogItem> {
  let line = 0
  let seed: string | undefined
  for await (const { bytes, whole } of linesOf(source)) {
    line++
    if (beginsWith(bytes, GAP)) {
      const {
        gap: [from, to],
      } = JSON.parse(bytes.toString('utf8')) as { gap: readonly [number, number] }
      return onGap?.(from, to)
    }
    try {
      const items = itemsOf(bytes, seed)
      const [first] = items
      if (first && 'seq' in first) seed ??= seedOf(first)
      yield* items
    } catch (error) {
      throw new LogError(
        `${name}: line ${line}${whole ? '' : ', the last one, may be cut off'}: ${messageOf(error)}`,
        undefined,
        'LOG_LINE',
      )
    }
  }
}

/** The events or the blob of one line, without its `\n`. */
export function itemsOf(bytes: Buffer, seed: string | undefined, sums: 'expected' | 'optional' = 'optional'): readonly LogItem[] {
  if (!isBlobLine(bytes)) return decodeLine(bytes, 0, bytes.length, seed, sums)
  const { blob, bytes: text } = JSON.parse(bytes.toString('utf8')) as { blob: unknown; bytes: unknown }
  if (typeof blob !== 'string' || typeof text !== 'string') throw new LogError('a blob that has no bytes')
  return [{ blob, bytes: new Uint8Array(Buffer.from(text, 'base64')) }]
}

/** Lines by their `\n`, without it; the last one may have none. */
export async function* linesOf(source: AsyncIterable<Uint8Array>): AsyncIterable<{ readonly bytes: Buffer; readonly whole: boolean }> {
  let pieces: Buffer[] = []
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let start = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      yield { bytes: Buffer.concat([...pieces, bytes.subarray(start, end)]), whole: true }
      pieces = []
      start = end + 1
    }
    // A copy: the source may use its buffer again.
    if (start < bytes.length) pieces.push(Buffer.from(bytes.subarray(start)))
  }
  if (pieces.length > 0) yield { bytes: Buffer.concat(pieces), whole: false }
}
