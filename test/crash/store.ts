import { join } from 'node:path'
import { JsonlStore, nodeFiles } from '@headrace/plugin-store-jsonl'
import { SqliteStore } from '@headrace/plugin-store-sqlite'
import type { SessionStore } from '@headrace/session'

/** A store that is to survive kills. */
export interface Kind {
  readonly name: string
  /**
   * @param onWrite called before each write, for stores that write files themselves; where it says so, half is written
   * and `tear` called
   */
  open(folder: string, onWrite?: OnWrite): SessionStore & { close?(): Promise<void> }
}

export interface OnWrite {
  isTorn(): boolean
  tear(): void
}

/** The stores that every crash test runs on. */
export const KINDS: readonly Kind[] = [
  {
    name: 'jsonl',
    open(directory, onWrite) {
      const write = (fd: number, bytes: Uint8Array): number => {
        if (!onWrite?.isTorn()) return nodeFiles.write(fd, bytes)
        nodeFiles.write(fd, bytes.subarray(0, Math.ceil(bytes.length / 2)))
        onWrite.tear()
        throw new Error('killed')
      }
      return new JsonlStore({ directory, fsync: 'barrier', files: { ...nodeFiles, write } })
    },
  },
  // It writes through SQLite: an append is hit from inside by another thread.
  { name: 'sqlite', open: (directory) => new SqliteStore({ file: join(directory, 'sessions.sqlite'), fsync: 'barrier' }) },
]

export function kindOf(name: string): Kind {
  const kind = KINDS.find((kind) => kind.name === name)
  if (!kind) throw new TypeError(`there is no store ${name}`)
  return kind
}
