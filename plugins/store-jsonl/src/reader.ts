import { type FileHandle, open } from 'node:fs/promises'
import { basename } from 'node:path'
import { HeadraceError, messageOf } from '@headrace/message'
import { LogError, OTHER_VERSION, type SessionEvent, SessionNotFoundError, StoreError } from '@headrace/session'
import { isCode } from './files.ts'
import { isBlobLine } from './items.ts'
import { beginsWithRecord, decodeLine } from './line.ts'

const CHUNK = 256 * 1024
const NEWLINE = 0x0a

/** What stands behind the last `\n` of a log: nothing, a whole record that lacks only its `\n`, or what is left of a torn one. */
export interface Tail {
  readonly events: readonly SessionEvent[]
  /** Bytes of the whole record; 0 for a torn one. */
  readonly whole: number
  /** Bytes to cut off behind that. */
  readonly torn: number
}

/** Where a line stands, for messages. */
interface Place {
  readonly id: string
  readonly path: string
  readonly offset: number
  readonly line: number
}

/** Reads one log from its beginning, in memory bounded by a chunk and the longest line; a torn tail is left out. */
export class LogReader {
  private readonly id: string
  private readonly path: string
  private readonly skips: (bytes: Buffer, start: number) => boolean
  private buffer = Buffer.allocUnsafe(CHUNK)
  private filled = 0
  /** Offset in the file of the buffer's first byte. */
  private base = 0
  /** Lines before the buffer's first byte. */
  private lines = 0
  private next = 0
  private looked = -1

  /** @param skips lines that are no events, by where they start */
  constructor(id: string, path: string, skips: (bytes: Buffer, start: number) => boolean = () => false) {
    this.id = id
    this.path = path
    this.skips = skips
  }

  /** @throws SessionNotFoundError, StoreError with file, offset and line of what is damaged, after the events before it were given */
  async *batches(): AsyncGenerator<readonly SessionEvent[]> {
    const file = await openLog(this.id, this.path)
    try {
      for (let read = await this.fill(file); read > 0; read = await this.fill(file)) {
        const { events, problem } = this.takeLines(this.filled - read)
        if (events.length > 0) yield events
        if (!problem) continue
        // A writer may have cut a torn tail off and gone on while this was read: look once more before it is called damaged.
        if (this.looked === this.base) throw this.damaged(problem.error)
        this.looked = this.base
        this.filled = 0
      }
      const events = this.takeTail()
      if (events.length > 0) yield events
    } finally {
      await file.close()
    }
  }

  /** Reads behind what is there; a line longer than the buffer makes it grow. Returns how many bytes came. */
  private async fill(file: FileHandle): Promise<number> {
    if (this.filled === this.buffer.length) {
      const larger = Buffer.allocUnsafe(this.buffer.length * 2)
      this.buffer.copy(larger)
      this.buffer = larger
    }
    const { bytesRead } = await file.read(this.buffer, this.filled, this.buffer.length - this.filled, this.base + this.filled)
    this.filled += bytesRead
    return bytesRead
  }

  /** The events of the whole lines in the buffer, which then begins with what is left. The first newline is not before `searched`. */
  private takeLines(searched: number): { readonly events: readonly SessionEvent[]; readonly problem?: { readonly error: unknown } } {
    const bytes = this.buffer.subarray(0, this.filled)
    const events: SessionEvent[] = []
    let start = 0
    try {
      for (let end = bytes.indexOf(NEWLINE, searched); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        if (!this.skips(bytes, start)) this.next = accept(decodeLine(bytes, start, end), this.next, events)
        start = end + 1
        this.lines++
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

  private takeTail(): readonly SessionEvent[] {
    try {
      return judgeTail(this.buffer.subarray(0, this.filled), this.next).events
    } catch (error) {
      throw this.damaged(error)
    }
  }

  private damaged(error: unknown): StoreError {
    return damaged(error, { id: this.id, path: this.path, offset: this.base, line: this.lines + 1 })
  }
}

/**
 * The events of any log file, wherever it lies, in batches; needs no lease. A torn tail is left out, and the blobs of an export.
 *
 * @throws StoreError that names file, line and byte of what is damaged, after the events before it were given
 */
export function readLog(path: string): AsyncIterable<readonly SessionEvent[]> {
  return new LogReader(basename(path, '.jsonl'), path, isBlobLine).batches()
}

/** The end of a log, read backwards: its size, the seq that comes next, and its tail. @throws SessionNotFoundError, StoreError */
export async function readEnd(id: string, path: string): Promise<{ readonly size: number; readonly next: number; readonly tail: Tail }> {
  const file = await openLog(id, path)
  try {
    const { size } = await file.stat()
    for (let length = 16 * 1024; ; length *= 4) {
      const from = Math.max(0, size - length)
      const bytes = await readRange(file, from, size)
      const last = bytes.lastIndexOf(NEWLINE)
      const before = last > 0 ? bytes.lastIndexOf(NEWLINE, last - 1) : -1
      if (from > 0 && before < 0) continue
      let start = before + 1
      try {
        const next = last < 0 ? 0 : decodeLine(bytes, start, last).at(-1)!.seq + 1
        start = last + 1
        const tail = judgeTail(bytes.subarray(start), next)
        return { size, next: next + tail.events.length, tail }
      } catch (error) {
        throw damaged(error, { id, path, offset: from + start, line: await lineAt(file, from + start) })
      }
    }
  } finally {
    await file.close()
  }
}

/** The first event of a log; undefined while it has none. @throws SessionNotFoundError, StoreError */
export async function readFirst(id: string, path: string): Promise<SessionEvent | undefined> {
  const file = await openLog(id, path)
  try {
    for (let length = 4 * 1024; ; length *= 4) {
      const bytes = await readRange(file, 0, length)
      const end = bytes.indexOf(NEWLINE)
      if (end < 0 && bytes.length === length) continue
      const events: SessionEvent[] = []
      if (end < 0) return judgeTail(bytes, 0).events[0]
      accept(decodeLine(bytes, 0, end), 0, events)
      return events[0]
    }
  } catch (error) {
    throw error instanceof StoreError || error instanceof SessionNotFoundError ? error : damaged(error, { id, path, offset: 0, line: 1 })
  } finally {
    await file.close()
  }
}

/**
 * Tells a torn tail from a damaged one: a write that was cut short leaves the beginning of a record, perhaps with NUL bytes where a
 * power cut lost a page, and never a whole record with something else behind it.
 *
 * @throws LogError where it is damaged
 */
function judgeTail(bytes: Buffer, next: number): Tail {
  let whole = bytes.length
  while (whole > 0 && bytes[whole - 1] === 0) whole--
  const torn = { events: [], whole: 0, torn: bytes.length }
  if (whole === 0) return torn
  const events: SessionEvent[] = []
  try {
    accept(decodeLine(bytes, 0, whole), next, events)
    return { events, whole, torn: bytes.length - whole }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    if (beginsWithRecord(bytes)) throw new LogError('a record is followed by something else on its line')
    return torn
  }
}

/** Adds a line's events where their seqs go on from `next`; returns the seq that comes then. */
function accept(line: readonly SessionEvent[], next: number, into: SessionEvent[]): number {
  for (const event of line) {
    if (event.seq !== next) throw new LogError(`seq ${event.seq} stands where ${next} comes next: ${event.seq > next ? 'events are missing' : 'events stand twice or out of order'}`, undefined, 'LOG_SEQ')
    next++
    into.push(event)
  }
  return next
}

function damaged(error: unknown, { id, path, offset, line }: Place): StoreError {
  const code = error instanceof HeadraceError && error.code !== 'LOG_INVALID' ? error.code : 'LOG_DAMAGED'
  const wayOut = OTHER_VERSION.has(code) ? '' : `; "headrace sessions export ${path} --salvage" saves what can be read`
  return new StoreError(`session ${id}: line ${line} at byte ${offset} of ${path} cannot be read: ${messageOf(error)}${wayOut}`, { code, cause: error })
}

/** The number of the line that begins at an offset, counted from 1. */
async function lineAt(file: FileHandle, offset: number): Promise<number> {
  let line = 1
  for (let from = 0; from < offset; from += CHUNK) {
    const bytes = await readRange(file, from, Math.min(offset, from + CHUNK))
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) line++
  }
  return line
}

async function readRange(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(to - from)
  let length = 0
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, from + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return bytes.subarray(0, length)
}

async function openLog(id: string, path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (isCode(error, 'ENOENT')) throw new SessionNotFoundError(id)
    throw new StoreError(`session ${id}: cannot open ${path} (${messageOf(error)})`, { cause: error })
  }
}
