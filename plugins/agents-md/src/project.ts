import { homedir } from 'node:os'
import { dirname, join, relative, resolve, sep } from 'node:path'
import type { FileLayer } from './files.ts'
import { isInside } from './reader.ts'

/** Where an agent works: from the root of its project down to its folder. */
export class Project {
  /** Keys that were made, by folder: a call touches the same folders again and again. */
  private readonly keys = new Map<string, string>()
  /** The nearest folder above (or at) the agent's that has a `.git`, a folder or a worktree's file; else the agent's own. Without links. */
  readonly root: string
  /** Without links. */
  readonly cwd: string
  /** The agent's folder as it was given. */
  private readonly given: string

  private constructor(root: string, cwd: string, given: string) {
    this.root = root
    this.cwd = cwd
    this.given = given
  }

  /** Never rejects: a folder that is not there is a project without files. */
  static async open(files: FileLayer, given: string): Promise<Project> {
    const cwd = await files.realpath(given).catch(() => resolve(given))
    for (let folder = cwd; ; folder = dirname(folder)) {
      if (isThere(files, join(folder, '.git'))) return new Project(folder, cwd, given)
      if (dirname(folder) === folder) return new Project(cwd, cwd, given)
    }
  }

  /** Folders from the root to the agent's. */
  chain(): readonly string[] {
    return foldersBetween(this.root, this.cwd)
  }

  /** Folders from below the root to a path, itself included, that are not on the way to the agent's; none for a path outside. */
  touched(path: string): readonly string[] {
    if (path.includes('\0') || !path.isWellFormed()) return []
    const absolute = resolve(this.cwd, path)
    // The agent may know its folder by another name.
    const place = isInside(this.given, absolute) ? join(this.cwd, relative(this.given, absolute)) : absolute
    if (!isInside(this.root, place)) return []
    return foldersBetween(this.root, place).filter((folder) => !isInside(folder, this.cwd))
  }

  /** What the announcement of a folder is signed with: `sub/`. */
  keyOf(folder: string): string {
    let key = this.keys.get(folder)
    if (key === undefined) this.keys.set(folder, (key = `${shownPath(relative(this.root, folder))}/`))
    return key
  }

  /** The folder of a key, unless it is none, or on the way to the agent's. */
  folderOf(key: string): string | undefined {
    if (!isFolderKey(key)) return undefined
    const folder = resolve(this.root, writtenPath(key))
    return isInside(this.root, folder) && !isInside(folder, this.cwd) ? folder : undefined
  }

  /** How the model is told of a file: relative to the agent's folder inside the project, `~/…` in the home, else absolute. */
  shown(path: string): string {
    if (isInside(this.root, path)) return shownPath(relative(this.cwd, path) || '.')
    const home = homedir()
    return shownPath(isInside(home, path) ? join('~', relative(home, path)) : path)
  }
}

/** Whether a key is one that {@link Project.keyOf} gave. */
export function isFolderKey(key: string): boolean {
  return key.endsWith('/')
}

function isThere(files: FileLayer, path: string): boolean {
  try {
    return files.lstat(path) !== undefined
  } catch {
    return false
  }
}

function foldersBetween(root: string, folder: string): readonly string[] {
  const names = relative(root, folder).split(sep).filter((name) => name !== '')
  return [root, ...names.map((_, index) => join(root, ...names.slice(0, index + 1)))]
}

/** A path on one line that closes no quotes: `/` between names, control characters, quotes and angle brackets as `%0A`. */
function shownPath(path: string): string {
  const slashed = sep === '/' ? path : path.replaceAll(sep, '/')
  return slashed.replace(/[%"<>\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, encodeURIComponent)
}

function writtenPath(shown: string): string {
  try {
    return decodeURIComponent(shown)
  } catch {
    return shown
  }
}
