import { constants, existsSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { READ_FLAGS } from '@headrace/files'
import { WorkspaceError, fileError } from './error.ts'
import type { Place, Workspace } from './workspace.ts'

/** A regular file, open for reading, known to be inside the workspace. */
export interface OpenFile {
  readonly handle: FileHandle
  readonly place: Place
  readonly stats: Stats
}

/**
 * Opens a file for `use`, and closes it after.
 *
 * @throws WorkspaceError if it is outside, is not there, or is anything but a regular file
 */
export async function withFile<T>(workspace: Workspace, place: Place, use: (file: OpenFile) => Promise<T>): Promise<T> {
  let handle: FileHandle | undefined
  try {
    // Checked before it is opened, since opening a device can have effects; and after, since it may be another file by
    // then.
    mustBeFile(await stat(place.real), place.shown)
    handle = await open(place.real, READ_FLAGS)
    const stats = await handle.stat()
    mustBeFile(stats, place.shown)
    await workspace.confirm(handle, place)
    return await use({ handle, place, stats })
  } catch (error) {
    throw fileError(error, 'read', place.shown)
  } finally {
    await handle?.close()
  }
}

/** @throws WorkspaceError for a folder, device, FIFO or socket */
export function mustBeFile(stats: Stats, shown: string): void {
  if (stats.isFile()) return
  if (stats.isDirectory()) throw new WorkspaceError('NOT_A_FILE', `${shown} is a folder; list shows what is in it.`)
  throw new WorkspaceError('NOT_A_FILE', `${shown} is not a regular file but ${kindOf(stats)}.`)
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return 'a named pipe'
  if (stats.isSocket()) return 'a socket'
  return stats.isSymbolicLink() ? 'a symbolic link' : 'a device'
}

/** All bytes of a file that may be at most `max` long, also where it grows while it is read. */
export async function readBytes(file: OpenFile, max: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of chunksOf(file.handle)) {
    chunks.push(chunk)
    length += chunk.length
    if (length > max) throw new WorkspaceError('TOO_LARGE', `${file.place.shown} is larger than the ${max} bytes this tool takes; use bash for it.`)
  }
  return Buffer.concat(chunks, length)
}

const CHUNK = 65_536

/** The bytes of a file from its beginning, each chunk its own memory. */
export async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, position)
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** A folder held open, so that nobody can swap it for a link between the check and the use. */
export interface PinnedFolder {
  /** A path to it that follows the open folder where the system has such paths, its real path elsewhere. */
  readonly path: string
  readonly handle: FileHandle
}

const FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0)

/** Opens a folder. @throws WorkspaceError if it is not inside the workspace */
export async function pinFolder(workspace: Workspace, path: string, place: Pick<Place, 'real' | 'shown'>): Promise<PinnedFolder> {
  const handle = await open(path, FOLDER)
  try {
    await workspace.confirm(handle, place)
    const follows = `/proc/self/fd/${handle.fd}`
    return { path: existsSync(follows) ? follows : path, handle }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Reads in a folder that is inside the workspace, and stays the same one meanwhile. `use` gets a path to it. @throws WorkspaceError */
export async function inFolder<T>(workspace: Workspace, place: Pick<Place, 'real' | 'shown'>, use: (path: string) => Promise<T>): Promise<T> {
  const folder = await pinFolder(workspace, place.real, place)
  try {
    const result = await use(folder.path)
    // Where the path does not follow the open folder, another one may have been there for a moment.
    if (folder.path === place.real) await workspace.confirm(folder.handle, place)
    return result
  } finally {
    await folder.handle.close()
  }
}
