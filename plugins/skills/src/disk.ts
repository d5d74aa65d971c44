import { constants, statSync } from 'node:fs'
import type { Dirent } from 'node:fs'
import { open, readdir, realpath } from 'node:fs/promises'
import { byCodeUnits } from './text.ts'

export type Stamp = readonly bigint[]

export function isSame(a: Stamp, b: Stamp | undefined): boolean {
  return b !== undefined && a.every((number, index) => number === b[index])
}

/** What is at a path, links followed. */
export interface Stat {
  readonly kind: 'file' | 'folder' | 'other'
  /** The same for the same folder, by whatever path; nothing for what is none. */
  readonly id: string
  /** Differs once it was changed: {@link isSame}. Numbers, for a text of them costs as much as the look. */
  readonly stamp: Stamp
  /** Bytes. */
  readonly size: number
  /** Milliseconds since 1970. */
  readonly changed: number
}

/** A name in a folder. */
export interface Item {
  readonly name: string
  readonly kind: 'file' | 'folder' | 'link' | 'other'
}

/** All that the plugin asks of a file system. Each throws what the system says. */
export interface Disk {
  /** Synchronous: each step asks for dozens, and a promise of one costs as much as ten. Many are asked for in slices. */
  stat(path: string): Stat
  /** The names in a folder, in order of code units. */
  list(path: string): Promise<readonly Item[]>
  /** The path without links. */
  real(path: string): Promise<string>
  /** The first `max` bytes of a regular file. `path` is without links. */
  read(path: string, max: number): Promise<Buffer>
}

/** `O_NONBLOCK`: a FIFO that was put there meanwhile must not hang us. `O_NOFOLLOW`: nor a link lead us elsewhere. Windows has neither. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Made once: most roots are not there, at every step. */
const ABSENT = Object.assign(new Error('there is nothing'), { code: 'ENOENT' })

export const disk: Disk = {
  stat(path) {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (!stats) throw ABSENT
    const { dev, ino } = stats
    const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other'
    return {
      kind, id: kind === 'folder' ? `${dev}:${ino}` : '', stamp: [dev, ino, stats.size, stats.mtimeNs, stats.ctimeNs], size: Number(stats.size), changed: Number(stats.mtimeMs),
    }
  },
  async list(path) {
    const entries = await readdir(path, { withFileTypes: true })
    return entries.map((entry) => ({ name: entry.name, kind: kindOf(entry) })).sort((a, b) => byCodeUnits(a.name, b.name))
  },
  real: (path) => realpath(path),
  async read(path, max) {
    const handle = await open(path, READ)
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) throw new Error('it is not a regular file')
      const buffer = Buffer.alloc(Math.min(max, stats.size))
      let length = 0
      for (let got = -1; got !== 0 && length < buffer.length; length += got) got = (await handle.read(buffer, length, buffer.length - length)).bytesRead
      return buffer.subarray(0, length)
    } finally {
      await handle.close()
    }
  },
}

function kindOf(entry: Dirent): Item['kind'] {
  return entry.isDirectory() ? 'folder' : entry.isFile() ? 'file' : entry.isSymbolicLink() ? 'link' : 'other'
}
