import { type BigIntStats, constants, lstatSync, statSync } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'

/** What tells whether a file is the one that was read. */
export interface FileStatus {
  readonly kind: 'file' | 'link' | 'folder' | 'pipe' | 'socket' | 'device'
  /** Bytes. */
  readonly size: number
  /** Changes with the file, its content or its rights; when it last changed, in milliseconds since the epoch. */
  readonly stamp: string
  readonly changed: number
}

/** All that is asked of the file system; a test counts it. To look is synchronous: it is done at every step, and a promise costs ten looks. */
export interface FileLayer {
  /** Of the name itself; nothing where there is none. @throws NodeJS.ErrnoException */
  lstat(path: string): FileStatus | undefined
  /** Of what a name leads to; nothing where that is not there. @throws NodeJS.ErrnoException */
  stat(path: string): FileStatus | undefined
  /** @throws NodeJS.ErrnoException */
  realpath(path: string): Promise<string>
  /** Up to `limit` bytes of a regular file, and its status before and after. Never waits for a writer. @throws NodeJS.ErrnoException */
  read(path: string, limit: number): Promise<{ readonly bytes: Uint8Array; readonly before: FileStatus; readonly after: FileStatus }>
}

const bigint = { bigint: true } as const
const quiet = { bigint: true, throwIfNoEntry: false } as const
// A pipe that took the file's place since it was looked at must neither be waited for, nor a terminal become ours.
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0) | (constants.O_NOCTTY ?? 0)

/** This machine's files. */
export const nodeFiles: FileLayer = {
  lstat: (path) => present(lstatSync(path, quiet)),
  stat: (path) => present(statSync(path, quiet)),
  realpath,
  async read(path, limit) {
    const handle = await open(path, FLAGS)
    try {
      const before = statusOf(await handle.stat(bigint))
      const bytes = before.kind === 'file' ? await readUpTo(handle, limit, before.size) : new Uint8Array()
      return { bytes, before, after: statusOf(await handle.stat(bigint)) }
    } finally {
      await handle.close()
    }
  },
}

async function readUpTo(handle: FileHandle, limit: number, size: number): Promise<Uint8Array> {
  // One more than it should have: a file that grows meanwhile, or says nothing of its size, is read on.
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
  const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = stats
  const changed = Number(mtimeMs > ctimeMs ? mtimeMs : ctimeMs)
  return { kind: kindOf(stats), size: Number(size), stamp: `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`, changed }
}

function kindOf(stats: BigIntStats): FileStatus['kind'] {
  if (stats.isFile()) return 'file'
  if (stats.isSymbolicLink()) return 'link'
  if (stats.isDirectory()) return 'folder'
  if (stats.isFIFO()) return 'pipe'
  return stats.isSocket() ? 'socket' : 'device'
}

/** The `code` of a system error, e.g. `ENOENT`. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN'
}
