import { join } from 'node:path'
import { HeadraceError, messageOf } from '@headrace/message'
import { SessionBusyError, StoreError } from '@headrace/session'
import { LogFile } from './file.ts'
import { type FileLayer, writeAll } from './files.ts'
import { Lock, LockedError } from './lease-lock.ts'
import { type Place, readEnd } from './reader.ts'

/** Where a log ends when it is leased. */
export interface End {
  readonly size: number
  /** The seq that comes next. */
  readonly next: number
  /** The seed of its checksums; undefined in an empty log. */
  readonly seed: string | undefined
  readonly repaired?: { readonly offset: number; readonly bytes: number }
}

/** Cuts a torn tail off, or adds the missing `\n` of a whole record, durably, in the open file and no other. */
export async function repair(files: FileLayer, file: LogFile, place: Place): Promise<End> {
  const { size, next, seed, tail } = await readEnd(file, place)
  const { whole, torn } = tail
  if (whole + torn === 0) return { size, next, seed }
  const offset = size - torn
  files.truncate(file.fd, offset)
  if (whole > 0) writeAll(files, file.fd, Buffer.from('\n'))
  await files.sync(file.fd)
  return { size: offset + (whole > 0 ? 1 : 0), next, seed, repaired: { offset, bytes: torn } }
}

/**
 * Yields what is read of a log, and closes it, also where the consumer stops early. @throws SessionNotFoundError,
 * StoreError
 */
export async function* reading<T>(
  files: FileLayer,
  place: Place,
  read: (file: LogFile, place: Place) => AsyncIterable<T>,
): AsyncGenerator<T> {
  const file = LogFile.open(files, place.id, place.path)
  try {
    yield* read(file, place)
  } finally {
    file.close()
  }
}

/** Runs a function with an open log. @throws SessionNotFoundError, StoreError */
export async function withLog<T>(files: FileLayer, place: Place, work: (file: LogFile, place: Place) => Promise<T>): Promise<T> {
  const file = LogFile.open(files, place.id, place.path)
  try {
    return await work(file, place)
  } finally {
    file.close()
  }
}

/** Runs a function under a session's lock, which is kept where it succeeds. @throws SessionBusyError */
export async function locked<T>(directory: string, id: string, work: (lock: Lock) => Promise<T>): Promise<T> {
  const lock = takeLock(id, join(directory, `${id}.lock`))
  try {
    return await work(lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

function takeLock(id: string, path: string): Lock {
  try {
    return Lock.take(path)
  } catch (error) {
    throw error instanceof LockedError ? new SessionBusyError(id, error.holder) : error
  }
}

/** Adds the session, and what could not be done, to an error. */
export async function guarded<T>(id: string, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof HeadraceError ? error : new StoreError(`session ${id}: cannot ${what} (${messageOf(error)})`, { cause: error })
  }
}
