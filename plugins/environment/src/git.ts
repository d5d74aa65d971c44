import { statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'

/** The files' side of {@link GitHead}; tests count its calls. To look is synchronous: it is done at every step, and a promise costs ten looks. */
export interface GitFiles {
  /** A stamp that differs when the file's content may differ; `undefined` where there is no such file. */
  stamp(path: string): string | undefined
  /** The text of a file. Rejects where there is none. */
  read(path: string): Promise<string>
}

export const nodeGitFiles: GitFiles = {
  stamp(path) {
    try {
      const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
      return stats && `${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.mode}`
    } catch {
      return undefined
    }
  },
  read: (path) => readFile(path, 'utf8'),
}

/** Where a repository stands. A detached head has no branch; a repository without commits no head. */
export interface GitState {
  readonly branch?: string
  /** Abbreviated to 12 digits. */
  readonly head?: string
}

/** Stamps of the files that were looked at. */
type Look = Map<string, string | undefined>

/** No file has this stamp. */
const UNREAD = 'unread'

/** A state, and the stamps of the files that it was read from. */
interface Kept {
  readonly state: GitState | undefined
  readonly stamps: Look
}

/**
 * Reads branch and head of the repository around a folder from its files, without running git. What did not change is not read again, and
 * a repository that was found is not looked for again as long as it is there.
 */
export class GitHead {
  private readonly commons = new Map<string, string | undefined>()
  private readonly files: GitFiles
  private readonly cache = new Map<string, { readonly stamp: string; readonly text: string }>()
  private readonly kept = new Map<string, Kept>()
  /** The `.git` of a folder. */
  private readonly found = new Map<string, string>()
  /** Where a ref stood in packed refs: they may be many. */
  private packed: { readonly text: string; readonly ref: string; readonly commit: string | undefined } | undefined

  constructor(files: GitFiles = nodeGitFiles) {
    this.files = files
  }

  /** `undefined` where the folder is in no repository. At once, and the same object, where nothing changed. */
  read(folder: string): GitState | undefined | Promise<GitState | undefined> {
    const kept = this.kept.get(folder)
    if (kept) {
      for (const [path, stamp] of kept.stamps) if (this.files.stamp(path) !== stamp) return this.readAnew(folder)
      return kept.state
    }
    return this.readAnew(folder)
  }

  private async readAnew(folder: string): Promise<GitState | undefined> {
    const look = new Map<string, string | undefined>()
    const state = await this.stateOf(folder, look)
    this.kept.set(folder, { state, stamps: look })
    return state
  }

  private async stateOf(folder: string, look: Look): Promise<GitState | undefined> {
    const known = this.found.get(folder)
    const git = known !== undefined && (await this.headOf(known, look)) !== undefined ? known : await this.search(folder, look)
    const head = git && this.cache.get(join(git, 'HEAD'))?.text
    if (!git || head === undefined) return undefined
    this.found.set(folder, git)
    // Where it is is known now; what else was looked at on the way does not matter any more.
    for (const path of look.keys()) if (path !== join(git, 'HEAD')) look.delete(path)
    const ref = /^ref: (refs\/[^\s]+)/.exec(head)?.[1]
    const commit = ref ? await this.commitOf(git, ref, look) : head.trim()
    const branch = ref?.replace(/^refs\/heads\//, '')
    return { ...(branch && { branch }), ...(commit && /^[0-9a-f]{40,64}$/.test(commit) && { head: commit.slice(0, 12) }) }
  }

  private headOf(git: string, look: Look): Promise<string | undefined> {
    return this.text(join(git, 'HEAD'), look)
  }

  private async search(folder: string, look: Look): Promise<string | undefined> {
    for (let at = resolve(folder); ; at = dirname(at)) {
      const path = join(at, '.git')
      if ((await this.headOf(path, look)) !== undefined) return path
      // A worktree or a submodule: a file that says where the folder is.
      const pointer = await this.text(path, look)
      const target = pointer && /^gitdir: (.+)/.exec(pointer)?.[1]?.trim()
      if (target) {
        const git = isAbsolute(target) ? target : resolve(at, target)
        return (await this.headOf(git, look)) === undefined ? undefined : git
      }
      if (at === dirname(at)) return undefined
    }
  }

  private async commitOf(git: string, ref: string, look: Look): Promise<string | undefined> {
    // What a worktree belongs to does not change while it is there.
    if (!this.commons.has(git)) this.commons.set(git, (await this.text(join(git, 'commondir'), new Map()))?.trim())
    const common = this.commons.get(git)
    const roots = common ? [git, resolve(git, common)] : [git]
    for (const root of roots) {
      const loose = (await this.text(join(root, ref), look))?.trim()
      if (loose) return loose
    }
    const text = await this.text(join(roots.at(-1)!, 'packed-refs'), look)
    if (text === undefined) return undefined
    if (this.packed?.text !== text || this.packed.ref !== ref) {
      this.packed = { text, ref, commit: text.split('\n').find((line) => line.endsWith(` ${ref}`))?.split(' ')[0] }
    }
    return this.packed.commit
  }

  private async text(path: string, look: Look): Promise<string | undefined> {
    const stamp = this.files.stamp(path)
    look.set(path, stamp)
    if (stamp === undefined) return undefined
    const known = this.cache.get(path)
    if (known?.stamp === stamp) return known.text
    try {
      const text = await this.files.read(path)
      this.cache.set(path, { stamp, text })
      return text
    } catch {
      // A folder, gone in between, or no room to read it now: asked again next time.
      look.set(path, UNREAD)
      return undefined
    }
  }
}
