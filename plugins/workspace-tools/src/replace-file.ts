import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import type { Stats } from 'node:fs'
import { lstat, mkdir, open, rename, stat, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { codeOf } from '@headrace/files'
import { WorkspaceError, fileError, mustGoOn } from './error.ts'
import { type PinnedFolder, mustBeFile, pinFolder } from './file.ts'
import type { Place, Workspace } from './workspace.ts'

const NO_FOLLOW = constants.O_NOFOLLOW ?? 0
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW

export interface ReplaceOptions {
  readonly signal: AbortSignal
  /** The file as it was when its content was read: another state by now is refused. */
  readonly expected?: Stats
}

/**
 * Writes a whole file at once: readers see the old content or the new one, a crash leaves one of them. Folders that are
 * missing are made, the mode and owner of the old file are kept. Hard links to the old file keep the old content.
 *
 * @returns whether the file is new
 */
export async function replaceFile(workspace: Workspace, place: Place, bytes: Uint8Array, options: ReplaceOptions): Promise<boolean> {
  let folder: PinnedFolder | undefined
  try {
    mustGoOn(options.signal)
    if (place.missing.length === 0) mustBeFile(await stat(place.real), place.shown)
    folder = await pinParent(workspace, place)
    const target = join(folder.path, basename(place.real))
    const old = await look(target)
    if (old !== undefined) mustBeWritable(old, place)
    await writeAside(folder, bytes, old, async (temporary) => {
      mustGoOn(options.signal)
      if (options.expected !== undefined) mustBeSame(options.expected, await look(target), place)
      await rename(temporary, target)
    })
    await folder.handle.sync().catch(() => {}) // Not every file system syncs folders.
    return old === undefined
  } catch (error) {
    throw fileError(error, 'write', place.shown)
  } finally {
    await folder?.handle.close()
  }
}

async function pinParent(workspace: Workspace, place: Place): Promise<PinnedFolder> {
  const names = place.missing.slice(0, -1)
  let folder = await pinFolder(workspace, place.missing.length === 0 ? dirname(place.real) : place.existing, place)
  for (const name of names) {
    const outer = folder
    try {
      const path = join(outer.path, name)
      await mkdir(path).catch((error: unknown) => { if (codeOf(error) !== 'EEXIST') throw error })
      folder = await pinFolder(workspace, path, place)
    } finally {
      await outer.handle.close()
    }
  }
  return folder
}

async function look(path: string): Promise<Stats | undefined> {
  return lstat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
}

function mustBeWritable(old: Stats, place: Place): void {
  mustBeFile(old, place.shown)
  // A rename would ignore the mode of the file it replaces.
  if ((old.mode & 0o222) === 0) throw new WorkspaceError('READ_ONLY', `${place.shown} is read-only; change its mode first if that is wanted.`)
}

function mustBeSame(expected: Stats, now: Stats | undefined, place: Place): void {
  const isSame = now?.ino === expected.ino && now.size === expected.size && now.mtimeMs === expected.mtimeMs && now.dev === expected.dev
  if (!isSame) throw new WorkspaceError('CHANGED', `${place.shown} was changed by someone else meanwhile; nothing was written. Read it again.`)
}

async function writeAside(
  folder: PinnedFolder,
  bytes: Uint8Array,
  old: Stats | undefined,
  done: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = join(folder.path, `.${randomBytes(8).toString('hex')}.tmp`)
  const handle = await open(temporary, CREATE, 0o666)
  try {
    try {
      await handle.writeFile(bytes)
      if (old !== undefined) await keepAttributes(handle, old)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await done(temporary)
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
}

async function keepAttributes(handle: FileHandle, old: Stats): Promise<void> {
  const own = await handle.stat()
  // Only root can change the owner; else the writer owns the new file, as with editors.
  if (own.uid !== old.uid || own.gid !== old.gid) await handle.chown(old.uid, old.gid).catch(() => {})
  await handle.chmod(old.mode & 0o777)
}

const tails = new Map<string, Promise<void>>()

/** Runs `work` under a lock on the file in this process: two agents on one workspace must not lose an edit. */
export async function withFileLock<T>(real: string, work: () => Promise<T>): Promise<T> {
  const before = tails.get(real)
  let release = (): void => {}
  const tail = new Promise<void>((resolve) => { release = resolve })
  tails.set(real, tail)
  try {
    await before
    return await work()
  } finally {
    release()
    if (tails.get(real) === tail) tails.delete(real)
  }
}
