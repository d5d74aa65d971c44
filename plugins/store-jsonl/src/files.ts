import fs from 'node:fs'
import { promisify } from 'node:util'

/**
 * Every call that changes data that the store must not lose. It can be replaced: by one that encrypts, or, in tests,
 * one that fails or loses what was not synced. Reads and lock files use `node:fs` directly.
 */
export interface FileLayer {
  /**
   * Opens a file: `r` for reading and syncing; `a`, one that is there (else ENOENT), for reading and appending; `ax`, a new one (else
   * EEXIST), the same way, mode 0600.
   */
  open(path: string, flags: 'r' | 'a' | 'ax'): number
  /** Appends bytes; returns how many, which may be fewer. */
  write(fd: number, bytes: Uint8Array): number
  /** Truncates an open file to `length` bytes. */
  truncate(fd: number, length: number): void
  /** Makes a file's bytes and length durable. */
  sync(fd: number): Promise<void>
  /** Makes a folder's entries durable: files that were made, renamed or removed in it. */
  syncDirectory(path: string): Promise<void>
  /** Closes a file. */
  close(fd: number): void
  /** Renames a file, replacing one of that name. */
  rename(from: string, to: string): void
  /** Gives a file a second name; refuses one that is taken (EEXIST). */
  link(from: string, to: string): void
  /** Removes a file, or a folder with its content; a missing one is no error. */
  remove(path: string): void
  /** Makes a folder, mode 0700, and those above it; returns the topmost that was made. */
  makeDirectory(path: string): string | undefined
}

/** How often the removal of a folder is tried again when it is not empty any more. */
const REMOVALS = 20

const datasync = promisify(fs.fdatasync)
const sync = promisify(fs.fsync)

const { O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_RDWR } = fs.constants
const FLAGS = { r: O_RDONLY, a: O_RDWR | O_APPEND, ax: O_RDWR | O_APPEND | O_CREAT | O_EXCL }

/** The file system of this machine. */
export const nodeFiles: FileLayer = {
  open: (path, flags) => fs.openSync(path, FLAGS[flags], 0o600),
  write: (fd, bytes) => fs.writeSync(fd, bytes),
  truncate: (fd, length) => fs.ftruncateSync(fd, length),
  sync: datasync,
  async syncDirectory(path) {
    if (process.platform === 'win32') return // has no such call; NTFS journals its entries
    const fd = fs.openSync(path, 'r')
    try {
      await sync(fd)
    } finally {
      fs.closeSync(fd)
    }
  },
  close: (fd) => fs.closeSync(fd),
  rename: (from, to) => fs.renameSync(from, to),
  link: (from, to) => fs.linkSync(from, to),
  remove,
  makeDirectory: (path) => fs.mkdirSync(path, { recursive: true, mode: 0o700 }),
}

/** Files that are added while a folder is removed, such as a letter to a deleted session, are removed too. */
function remove(path: string): void {
  for (let rounds = 1; ; rounds++) {
    try {
      fs.rmSync(path, { recursive: true, force: true })
      return
    } catch (error) {
      if (!isCode(error, 'ENOTEMPTY') || rounds === REMOVALS) throw error
    }
  }
}

/** The same layer, with syncs left out. */
export function withoutSync(files: FileLayer): FileLayer {
  const none = (): Promise<void> => Promise.resolve()
  return new Proxy(files, { get: (layer, key) => (key === 'sync' || key === 'syncDirectory' ? none : Reflect.get(layer, key, layer) as unknown) })
}

/** Appends all bytes, however many calls that takes. */
export function writeAll(files: FileLayer, fd: number, bytes: Uint8Array): void {
  for (let rest = bytes; rest.length > 0;) {
    const written = files.write(fd, rest)
    if (written <= 0) throw new Error('the file takes no more bytes')
    rest = rest.subarray(written)
  }
}

/** True for an error of the file system with one of these codes. */
export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}
