import { HeadraceError, messageOf } from '@headrace/message'
import { OTHER_VERSION, type SessionEvent, StoreError } from '@headrace/session'
import type { LogFile } from './file.ts'
import { decodeLine, seedOf, seqAt } from './line.ts'
import { type Tail, accept, judgeTail } from './tail.ts'

const CHUNK = 256 * 1024
const NEWLINE = 0x0a

/** A log's name in messages. */
export interface Place {
  readonly id: string
  readonly path: string
}

/** Where reading begins: at a line's first byte. */
export interface Start {
  readonly offset: number
  /** The seq of that line's first event. */
  readonly next: number
  /** The seed of its checksums; undefined at the first line, which has it. */
  readonly seed: string | undefined
}

export const BEGINNING: Start = { offset: 0, next: 0, seed: undefined }

export interface ReaderOptions {
  readonly start?: Start
  /** Lines that hold no events, by their offset. */
  readonly skips?: (bytes: Buffer, start: number) => boolean
  /** False leaves out a last line without `\n`, also where it is whole. */
  readonly tail?: boolean
  /** Called with a torn tail. */
  readonly onLeftOut?: (left: { readonly offset: number; readonly bytes: number }) => void
  /** Bytes of the file; later ones are not read. */
  readonly size?: number
}

/** Reads one log forwards, in memory bounded by a chunk and the longest line; a torn tail is left out. */
export class LogReader {
  private readonly file: LogFile
  private readonly place: Place
  private readonly skips: (bytes: Buffer, start: number) => boolean
  private readonly tail: boolean
  private readonly onLeftOut: ReaderOptions['onLeftOut']
  private readonly size: number
  private buffer = Buffer.allocUnsafe(CHUNK)
  private filled = 0
  /** Offset in the file of the buffer's first byte. */
  private base: number
  private next: number
  private seed: string | undefined
  private looked = -1

  constructor(
    file: LogFile,
    place: Place,
    { start = BEGINNING, skips = () => false, tail = true, size = Infinity, onLeftOut }: ReaderOptions = {},
  ) {
    this.file = file
    this.place = place
    this.base = start.offset
    this.next = start.next
    this.seed = start.seed
    this.skips = skips
    this.tail = tail
    this.onLeftOut = onLeftOut
    this.size = size
  }

  /** @throws StoreError with file, offset and line of what is damaged, after the events before it were given */
  async *batches(): AsyncGenerator<readonly SessionEvent[]> {
    for (let read = await this.fill(); read > 0; read = await this.fill()) {
      const { events, problem } = this.takeLines(this.filled - read)
      if (events.length > 0) yield events
      if (!problem) continue
      // A writer may have cut a torn tail off and gone on meanwhile: read again before reporting damage.
      if (this.looked === this.base) throw await this.damaged(problem.error)
      this.looked = this.base
      this.filled = 0
    }
    const events = this.tail ? await this.takeTail() : []
    if (events.length > 0) yield events
  }

  /** Reads more into the buffer, which grows for a longer line. Returns how many bytes came. */
  private async fill(): Promise<number> {
    if (this.filled === this.buffer.length) {
      const larger = Buffer.allocUnsafe(this.buffer.length * 2)
      this.buffer.copy(larger)
      this.buffer = larger
    }
    const position = this.base + this.filled
    const length = Math.min(this.buffer.length - this.filled, this.size - position)
    if (length <= 0) return 0
    const read = await this.file.fill(this.buffer, this.filled, length, position)
    this.filled += read
    return read
  }

  /** The events of the whole lines in the buffer, which keeps the rest. The first newline is not before `searched`. */
  private takeLines(searched: number): {
    readonly events: readonly SessionEvent[]
    readonly problem?: { readonly error: unknown }
  } {
    const bytes = this.buffer.subarray(0, this.filled)
    const events: SessionEvent[] = []
    let start = 0
    try {
      for (let end = bytes.indexOf(NEWLINE, searched); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        if (!this.skips(bytes, start)) {
          const line = decodeLine(bytes, start, end, this.seed)
          this.next = accept(line, this.next, events)
          this.seed ??= seedOf(line[0]!)
        }
        start = end + 1
      }
      return { events }
    } catch (error) {
      return { events, problem: { error } }
    } finally {
      bytes.copyWithin(0, start)
      this.base += start
      this.filled -= start
    }
  }

  private async takeTail(): Promise<readonly SessionEvent[]> {
    try {
      const { events, whole, torn } = judgeTail(this.buffer.subarray(0, this.filled), this.next, this.seed)
      if (torn > 0) this.onLeftOut?.({ offset: this.base + whole, bytes: torn })
      return events
    } catch (error) {
      throw await this.damaged(error)
    }
  }

  private async damaged(error: unknown): Promise<StoreError> {
    return damaged(error, this.file, this.place, this.base)
  }
}

interface LogEnd {
  readonly size: number
  readonly next: number
  readonly seed: string | undefined
  readonly tail: Tail
}

/**
 * The end of a log, read backwards: its size, the next seq, the seed of its checksums, and its tail. @throws StoreError
 */
export async function readEnd(file: LogFile, place: Place): Promise<LogEnd> {
  const { size } = file
  const first = await readFirst(file, place)
  const seed = first && seedOf(first)
  for (let length = 16 * 1024; ; length *= 4) {
    const from = Math.max(0, size - length)
    const bytes = await file.bytes(from, size)
    const last = bytes.lastIndexOf(NEWLINE)
    const before = last > 0 ? bytes.lastIndexOf(NEWLINE, last - 1) : -1
    if (from > 0 && before < 0) continue
    let start = before + 1
    try {
      const next = last < 0 ? 0 : decodeLine(bytes, start, last, seed).at(-1)!.seq + 1
      start = last + 1
      const tail = judgeTail(bytes.subarray(start), next, seed)
      return { size, next: next + tail.events.length, seed, tail }
    } catch (error) {
      throw await damaged(error, file, place, from + start)
    }
  }
}

/** The first event of a log; undefined while it has none. @throws StoreError */
export async function readFirst(file: LogFile, place: Place): Promise<SessionEvent | undefined> {
  try {
    for (let length = 4 * 1024; ; length *= 4) {
      const bytes = await file.bytes(0, length)
      const end = bytes.indexOf(NEWLINE)
      if (end < 0 && bytes.length === length) continue
      if (end < 0) return judgeTail(bytes, 0, undefined).events[0]
      const events: SessionEvent[] = []
      accept(decodeLine(bytes, 0, end, undefined), 0, events)
      return events[0]
    }
  } catch (error) {
    throw error instanceof StoreError ? error : await damaged(error, file, place, 0)
  }
}

/** Below this many bytes a log is read through. */
const NEAR = 64 * 1024

/**
 * Where the line with an event begins, or one before it: a binary search, as seqs grow with the file. Takes a few
 * reads, however long the log is.
 */
export async function startOf(file: LogFile, place: Place, seq: number): Promise<Start> {
  const { size } = file
  let best = BEGINNING
  if (size - best.offset <= NEAR || seq <= 0) return best
  const first = await readFirst(file, place)
  if (!first) return best
  const seed = seedOf(first)
  for (let end = size; end - best.offset > NEAR;) {
    const middle = best.offset + Math.floor((end - best.offset) / 2)
    const line = await lineBehind(file, middle, end)
    // A line written by hand, or no line up to the end: not usable for the search.
    if (!line || line.seq === undefined || line.seq > seq) end = middle
    else best = { offset: line.offset, next: line.seq, seed }
  }
  return best
}

/** The first line that begins behind an offset and before an end, and the seq it says. */
async function lineBehind(
  file: LogFile,
  offset: number,
  end: number,
): Promise<{ readonly offset: number; readonly seq: number | undefined } | undefined> {
  for (let from = offset; from < end; from += NEAR) {
    const bytes = await file.bytes(from, Math.min(end, from + NEAR))
    const at = bytes.indexOf(NEWLINE)
    if (at < 0) continue
    const start = from + at + 1
    if (start >= end) return undefined
    const head = await file.bytes(start, start + 40)
    return { offset: start, seq: seqAt(head, 0) }
  }
  return undefined
}

async function damaged(error: unknown, file: LogFile, { id, path }: Place, offset: number): Promise<StoreError> {
  const code = error instanceof HeadraceError && error.code !== 'LOG_INVALID' ? error.code : 'LOG_DAMAGED'
  const wayOut = OTHER_VERSION.has(code) ? '' : `; "headrace sessions export ${path} --salvage" saves what can be read`
  return new StoreError(`session ${id}: line ${await lineAt(file, offset)} at byte ${offset} of ${path} cannot be read: ${messageOf(error)}${wayOut}`, { code, cause: error })
}

/** The number of the line that begins at an offset, counted from 1. */
async function lineAt(file: LogFile, offset: number): Promise<number> {
  let line = 1
  for (let from = 0; from < offset; from += CHUNK) {
    const bytes = await file.bytes(from, Math.min(offset, from + CHUNK))
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) line++
  }
  return line
}
