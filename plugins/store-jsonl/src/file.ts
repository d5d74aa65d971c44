import fs from 'node:fs'
import { promisify } from 'node:util'
import { messageOf } from '@headrace/message'
import { SessionNotFoundError, StoreError } from '@headrace/session'
import { type FileLayer, isCode } from './files.ts'

const readInto = promisify(fs.read) as (
  fd: number,
  buffer: Buffer,
  offset: number,
  length: number,
  position: number,
) => Promise<{ readonly bytesRead: number }>

/** One open log. It stays the same file, also where another one takes its path. */
export class LogFile {
  readonly fd: number
  private readonly files: FileLayer
  private open = true
  private identity: fs.Stats | undefined

  /** @throws SessionNotFoundError, StoreError */
  static open(files: FileLayer, id: string, path: string, flags: 'r' | 'a' = 'r'): LogFile {
    try {
      return new LogFile(files, files.open(path, flags))
    } catch (error) {
      if (isCode(error, 'ENOENT')) throw new SessionNotFoundError(id)
      throw new StoreError(`session ${id}: cannot open ${path} (${messageOf(error)})`, { cause: error })
    }
  }

  constructor(files: FileLayer, fd: number) {
    this.files = files
    this.fd = fd
  }

  /** Bytes. */
  get size(): number {
    return fs.fstatSync(this.fd).size
  }

  /** Its size, and when it changed, in milliseconds. */
  get times(): { readonly size: number; readonly mtimeMs: number } {
    return fs.fstatSync(this.fd)
  }

  /** Changes whenever the file does, as far as the system reports it. */
  get mark(): string {
    const { ino, mtimeNs, size } = fs.fstatSync(this.fd, { bigint: true })
    return `${ino}/${mtimeNs}/${size}`
  }

  /**
   * The size of the file at its path; undefined where that is another file, or none. One `stat`: it runs at each sync.
   */
  sizeAt(path: string): number | undefined {
    this.identity ??= fs.fstatSync(this.fd)
    const now = fs.statSync(path, { throwIfNoEntry: false })
    return now && now.ino === this.identity.ino && now.dev === this.identity.dev ? now.size : undefined
  }

  /** True while its path still names this file. */
  isAt(path: string): boolean {
    return this.sizeAt(path) !== undefined
  }

  /** Reads into a buffer; returns how many bytes came, 0 at the end. */
  async fill(buffer: Buffer, offset: number, length: number, position: number): Promise<number> {
    return (await readInto(this.fd, buffer, offset, length, position)).bytesRead
  }

  /** The bytes from one offset to another, or to the end. */
  async bytes(from: number, to: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(Math.max(0, to - from))
    let length = 0
    while (length < bytes.length) {
      const read = await this.fill(bytes, length, bytes.length - length, from + length)
      if (read === 0) break
      length += read
    }
    return bytes.subarray(0, length)
  }

  close(): void {
    if (this.open) this.files.close(this.fd)
    this.open = false
  }
}
