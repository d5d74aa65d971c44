import { homedir } from 'node:os'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { type FileSystem, decodeText, foldersToProject, isInside } from '@headrace/files'
import { shownPath } from './instruction-file.ts'

/** Where an agent works: from the root of its project down to its folder. */
export class Project {
  /** Cached keys by folder: calls touch the same folders again and again. */
  private readonly keys = new Map<string, string>()
  /** The nearest folder above (or at) the agent's that has one of the markers; else the agent's own. Without links. */
  readonly root: string
  /** Real paths of the folders that links in the project may lead to: its root and, where that is a linked worktree, the main one. */
  readonly roots: readonly string[]
  /** Without links. */
  readonly cwd: string
  /** The agent's folder as it was given. */
  private readonly given: string

  private constructor(roots: readonly [string, ...string[]], cwd: string, given: string) {
    this.root = roots[0]
    this.roots = roots
    this.cwd = cwd
    this.given = given
  }

  /** Never rejects: a missing folder is a project without files. */
  static async open(files: FileSystem, given: string, markers: readonly string[]): Promise<Project> {
    const cwd = await files.realpath(given).catch(() => resolve(given))
    const root = foldersToProject(cwd, markers, files).at(-1)!
    const main = await mainWorktreeOf(root, files).catch(() => undefined)
    return new Project(main === undefined ? [root] : [root, main], cwd, given)
  }

  /** Folders from the root to the agent's. */
  chain(): readonly string[] {
    return foldersBetween(this.root, this.cwd)
  }

  /** Folders from below the root to a path, itself included, that are not on the way to the agent's; none for a path outside. */
  touched(path: string): readonly string[] {
    if (path.includes('\0') || !path.isWellFormed()) return []
    const absolute = resolve(this.cwd, path)
    // The agent's path may differ from the real one.
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

  /** The folder of a key, unless there is none, or it is on the way to the agent's. */
  folderOf(key: string): string | undefined {
    if (!isFolderKey(key)) return undefined
    const folder = resolve(this.root, writtenPath(key))
    return isInside(this.root, folder) && !isInside(folder, this.cwd) ? folder : undefined
  }

  /**
   * A file's path as the model sees it: relative to the agent's folder inside the project, `~/…` in the home, else
   * absolute.
   */
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

/**
 * The main worktree of the repository that a linked worktree belongs to; `undefined` for any other folder. The
 * repository must name the worktree too: a `.git` file alone could name any folder.
 */
async function mainWorktreeOf(root: string, files: FileSystem): Promise<string | undefined> {
  const pointer = join(root, '.git')
  if (files.lstat(pointer)?.kind !== 'file') return undefined
  const target = /^gitdir: (.+)/.exec(await lineOf(pointer, files))?.[1]
  if (target === undefined) return undefined
  const folder = resolve(root, target)
  const back = await files.realpath(resolve(folder, await lineOf(join(folder, 'gitdir'), files)))
  const common = resolve(folder, await lineOf(join(folder, 'commondir'), files))
  return back === pointer && basename(common) === '.git' ? files.realpath(dirname(common)) : undefined
}

async function lineOf(path: string, files: FileSystem): Promise<string> {
  const decoded = decodeText((await files.read(await files.realpath(path), MAX_POINTER)).bytes)
  return 'text' in decoded ? decoded.text.trim() : ''
}

/** Bytes of a file that holds one path. */
const MAX_POINTER = 10_000

function foldersBetween(root: string, folder: string): readonly string[] {
  const names = relative(root, folder).split(sep).filter((name) => name !== '')
  return [root, ...names.map((_, index) => join(root, ...names.slice(0, index + 1)))]
}

function writtenPath(shown: string): string {
  try {
    return decodeURIComponent(shown)
  } catch {
    return shown
  }
}
