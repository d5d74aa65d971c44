import { type BigIntStats, type Dirent, constants, lstatSync, statSync } from 'node:fs'
import { type FileHandle, open, readdir, realpath } from 'node:fs/promises'
import { byCodeUnits } from './shown.ts'

/** What can be at a path. */
export type FileKind = 'file' | 'folder' | 'link' | 'pipe' | 'socket' | 'device'

/**
 * Differs once a file, its content or its rights changed: {@link isSameStamp}. Numbers, since formatting them costs as
 * much as the stat.
 */
export type Stamp = readonly bigint[]

/** True for a file that has not changed between two stamps. */
export function isSameStamp(a: Stamp, b: Stamp | undefined): boolean {
  return b !== undefined && a.length === b.length && a.every((number, index) => number === b[index])
}

/** The status of a path. */
export interface FileStatus {
  readonly kind: FileKind
  /** The same for one file or folder by whatever path. */
  readonly id: string
  /** Bytes. */
  readonly size: number
  readonly stamp: Stamp
  /** When content or rights last changed, in milliseconds since 1970. */
  readonly changed: number
}

/** A name in a folder. */
export interface FolderEntry {
  readonly name: string
  readonly kind: FileKind
}

/** The beginning of a file, and its status before and after it was read. */
export interface FileReading {
  readonly bytes: Uint8Array
  readonly before: FileStatus
  readonly after: FileStatus
}

/**
 * The file system as readers use it; tests count the calls and make them fail. Status calls are synchronous: they run at every step, and a
 * promise costs as much as ten of them.
 */
export interface FileSystem {
  /** Of the name itself; `undefined` where there is none. @throws NodeJS.ErrnoException */
  lstat(path: string): FileStatus | undefined
  /** Of what a name leads to; `undefined` where that is not there. @throws NodeJS.ErrnoException */
  stat(path: string): FileStatus | undefined
  /** In order of name (code units). @throws NodeJS.ErrnoException */
  list(path: string): Promise<readonly FolderEntry[]>
  /** The path without links. @throws NodeJS.ErrnoException */
  realpath(path: string): Promise<string>
  /** Up to `limit` bytes, none of what is no regular file. Never waits for a writer. @throws NodeJS.ErrnoException */
  read(path: string, limit: number): Promise<FileReading>
}

const quiet = { bigint: true, throwIfNoEntry: false } as const

/**
 * Flags for reading a path that was checked before. `O_NOFOLLOW`, `O_NONBLOCK`, `O_NOCTTY`: a link, a FIFO or a terminal that took the
 * file's place meanwhile must not lead elsewhere, hang us or become ours. Windows has none of them.
 */
export const READ_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

/** This machine's files. */
export const nodeFiles: FileSystem = {
  lstat: (path) => present(lstatSync(path, quiet)),
  stat: (path) => present(statSync(path, quiet)),
  async list(path) {
    const entries = await readdir(path, { withFileTypes: true })
    return entries.map((entry) => ({ name: entry.name, kind: kindOf(entry) })).sort((a, b) => byCodeUnits(a.name, b.name))
  },
  realpath: (path) => realpath(path),
  async read(path, limit) {
    const handle = await open(path, READ_FLAGS)
    try {
      const before = statusOf(await handle.stat({ bigint: true }))
      const bytes = before.kind === 'file' ? await readUpTo(handle, limit, before.size) : new Uint8Array()
      return { bytes, before, after: statusOf(await handle.stat({ bigint: true })) }
    } finally {
      await handle.close()
    }
  },
}

/** Reads one byte more than the size: a file that grows, or reports no size (/proc), is read on. */
async function readUpTo(handle: FileHandle, limit: number, size: number): Promise<Uint8Array> {
  let bytes = Buffer.alloc(Math.min(limit, size + 1))
  let length = 0
  for (;;) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length)
    length += bytesRead
    if (bytesRead === 0 || length === limit) return bytes.subarray(0, length)
    if (length === bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(Math.min(limit - length, length))])
  }
}

function present(stats: BigIntStats | undefined): FileStatus | undefined {
  return stats && statusOf(stats)
}

function statusOf(stats: BigIntStats): FileStatus {
  const { dev, ino, size, mode, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = stats
  const changed = Number(mtimeMs > ctimeMs ? mtimeMs : ctimeMs)
  return { kind: kindOf(stats), id: `${dev}:${ino}`, size: Number(size), stamp: [dev, ino, size, mode, mtimeNs, ctimeNs], changed }
}

/** The kind of a status or a folder's entry. */
export function kindOf(stats: Pick<Dirent, 'isFile' | 'isSymbolicLink' | 'isDirectory' | 'isFIFO' | 'isSocket'>): FileKind {
  if (stats.isFile()) return 'file'
  if (stats.isSymbolicLink()) return 'link'
  if (stats.isDirectory()) return 'folder'
  if (stats.isFIFO()) return 'pipe'
  return stats.isSocket() ? 'socket' : 'device'
}
