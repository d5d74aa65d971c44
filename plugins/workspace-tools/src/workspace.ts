import { lstat, realpath, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { codeOf, isInside, realPathOf, shownName } from '@headrace/files'
import { WorkspaceError, fileError } from './error.ts'

/** A path inside the workspace, every symbolic link resolved. */
export interface Place {
  /** Absolute, without links. */
  readonly real: string
  /** The deepest folder or file of it that exists. */
  readonly existing: string
  /** The names below `existing` that do not exist; none where the path exists. */
  readonly missing: readonly string[]
  /** Its name in results and errors: relative to the workspace where it is inside. */
  readonly shown: string
}

/**
 * The folders that the tools may touch: the agent's, and those the app added.
 *
 * Paths are judged by where they lead, not by how they are written. A path may change between check and open, so the
 * open file is checked again (`confirm`).
 */
export class Workspace {
  /** The agent's folder, without links. */
  readonly cwd: string
  private readonly roots: readonly string[]

  private constructor(cwd: string, roots: readonly string[]) {
    this.cwd = cwd
    this.roots = roots
  }

  /** @throws WorkspaceError if the agent's folder is not there; a missing extra root admits nothing */
  static async open(cwd: string, extraRoots: readonly string[]): Promise<Workspace> {
    const real = await realpath(cwd).catch((error: unknown) => { throw fileError(error, 'use the workspace folder', shownName(cwd)) })
    const extra = await Promise.all(extraRoots.map((root) => realpath(root).catch(() => undefined)))
    return new Workspace(real, [real, ...extra.filter((root) => root !== undefined)])
  }

  /**
   * Where a path leads.
   *
   * @param path absolute, or relative to the workspace
   * @throws WorkspaceError if it leads outside, or cannot be resolved
   */
  async find(path: string): Promise<Place> {
    if (path.includes('\0')) throw new WorkspaceError('PATH_INVALID', `The path ${shownName(path)} has a NUL character in it.`)
    if (path === '') throw new WorkspaceError('PATH_INVALID', 'The path is empty; "." is the workspace.')
    const missing: string[] = []
    for (let at = resolve(this.cwd, path); ; at = dirname(at)) {
      const existing = await this.realOf(at, path)
      if (existing === undefined) {
        missing.unshift(basename(at))
        continue
      }
      if (!this.holds(existing)) throw this.outside(path)
      const place = { real: join(existing, ...missing), existing, missing, shown: this.show(join(existing, ...missing)) }
      await mustBeFolderAbove(place)
      return place
    }
  }

  /** The same, of a path that must be there. */
  async findExisting(path: string): Promise<Place> {
    const place = await this.find(path)
    if (place.missing.length > 0) throw new WorkspaceError('NOT_FOUND', `There is no ${place.shown}; list or glob tells what there is.`)
    return place
  }

  /** @throws WorkspaceError if what was opened is not inside: a folder of its path was swapped for a link meanwhile */
  async confirm(handle: FileHandle, place: Pick<Place, 'real' | 'shown'>): Promise<void> {
    const now = await realPathOf(handle, place.real)
    if (now === undefined || !this.holds(now)) throw this.outside(place.shown)
  }

  /** A real path as results show it, with `/` between names on every system. */
  show(real: string): string {
    const path = isInside(this.cwd, real) ? relative(this.cwd, real) || '.' : real
    return shownName(sep === '/' ? path : path.replaceAll(sep, '/'))
  }

  private holds(real: string): boolean {
    return this.roots.some((root) => isInside(root, real))
  }

  private outside(path: string): WorkspaceError {
    const others = this.roots.slice(1).map((root) => shownName(root))
    return new WorkspaceError('PATH_OUTSIDE', `${shownName(path)} leads outside the workspace; use a path inside it`
      + (others.length === 0 ? '.' : `, or inside ${others.join(', ')}.`))
  }

  private async realOf(at: string, path: string): Promise<string | undefined> {
    try {
      return await realpath(at)
    } catch (error) {
      const code = codeOf(error)
      if (code !== 'ENOENT' && code !== 'ENOTDIR') throw new WorkspaceError('PATH_UNRESOLVED', fileError(error, 'resolve', shownName(path)).message)
      if (dirname(at) === at) throw fileError(error, 'resolve', shownName(path))
      // A dangling link must not count as a new file: writing would create its target.
      const link = await lstat(at).catch(() => undefined)
      if (link?.isSymbolicLink()) throw new WorkspaceError('PATH_UNRESOLVED', `${shownName(path)} goes through a symbolic link to something that does not exist.`)
      return undefined
    }
  }
}

async function mustBeFolderAbove(place: Place): Promise<void> {
  if (place.missing.length === 0) return
  const above = await stat(place.existing).catch((error: unknown) => { throw fileError(error, 'look at', place.shown) })
  if (!above.isDirectory()) throw new WorkspaceError('NOT_A_FOLDER', `${place.shown} cannot exist: a part of its path is a file.`)
}
