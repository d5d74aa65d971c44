import { dirname, isAbsolute, join, resolve } from 'node:path'
import { type FileSystem, StampedFiles, nodeFiles } from '@headrace/files'
import { type Ref, type RefTable, parseReftable } from './reftable.ts'

/** The state of a repository. A detached head has no branch; a repository without commits no head. */
export interface GitState {
  readonly branch?: string
  /** Abbreviated to 12 digits. */
  readonly head?: string
}

/** One of the files that a state was read from, and its value then. */
interface Looked {
  readonly path: string
  readonly files: StampedFiles<unknown>
  readonly value: unknown
}

/** A state, and what it was read from. */
interface Kept {
  readonly state: GitState | undefined
  readonly looked: readonly Looked[]
}

/** Bytes: packed refs and reftables of very large repositories. */
const MAX_SIZE = 64_000_000
/** The content of `HEAD` in a repository with reftables, which keeps older programs away. */
const ELSEWHERE = 'refs/heads/.invalid'

/**
 * Reads branch and head of the repository around a folder from its files, without running git. What did not change is not read again, and
 * a repository that was found is not looked for again as long as it is there.
 */
export class GitHead {
  private readonly texts: StampedFiles<string | undefined>
  private readonly tables: StampedFiles<RefTable | undefined>
  private readonly commons = new Map<string, string | undefined>()
  private readonly kept = new Map<string, Kept>()
  /** The `.git` of a folder. */
  private readonly found = new Map<string, string>()
  /** Cached refs from packed refs, which may be large. */
  private packed: { readonly text: string; readonly ref: string; readonly commit: string | undefined } | undefined

  constructor(files: FileSystem = nodeFiles) {
    const problem = (): undefined => undefined
    this.texts = new StampedFiles({ files, maxSize: MAX_SIZE, make: ({ bytes }) => Buffer.from(bytes).toString('utf8'), problem })
    this.tables = new StampedFiles({ files, maxSize: MAX_SIZE, make: ({ bytes }) => parseReftable(Buffer.from(bytes)), problem })
  }

  /** `undefined` where the folder is in no repository. Synchronous, and the same object, where nothing changed. */
  read(folder: string): GitState | undefined | Promise<GitState | undefined> {
    const kept = this.kept.get(folder)
    const stands = kept?.looked.every(({ files, path, value }) => files.look(path) === value)
    return stands ? kept?.state : this.readAnew(folder)
  }

  private async readAnew(folder: string): Promise<GitState | undefined> {
    const look = new Look()
    const state = await this.stateOf(folder, look)
    this.kept.set(folder, { state, looked: look.looked })
    return state
  }

  private async stateOf(folder: string, look: Look): Promise<GitState | undefined> {
    const known = this.found.get(folder)
    const git = known !== undefined && (await this.headOf(known, look)) !== undefined ? known : await this.search(folder, look)
    if (git === undefined) return undefined
    this.found.set(folder, git)
    // The repository is found: from now on only its HEAD is watched, not the folders on the way.
    look.restart()
    const text = await this.headOf(git, look)
    const inFile = refIn(text ?? '')
    const head = 'target' in inFile && inFile.target === ELSEWHERE ? await this.refInTables(git, 'HEAD', look) : inFile
    if (!head) return {}
    const commit = 'target' in head ? await this.commitOf(git, head.target, look) : head.commit
    const branch = 'target' in head ? head.target.replace(/^refs\/heads\//, '') : undefined
    return { ...(branch && { branch }), ...(commit && /^[0-9a-f]{40,64}$/.test(commit) && { head: commit.slice(0, 12) }) }
  }

  private headOf(git: string, look: Look): Promise<string | undefined> {
    return look.at(join(git, 'HEAD'), this.texts)
  }

  private async search(folder: string, look: Look): Promise<string | undefined> {
    for (let at = resolve(folder); ; at = dirname(at)) {
      const path = join(at, '.git')
      if ((await this.headOf(path, look)) !== undefined) return path
      // A worktree or a submodule: a file that says where the folder is.
      const pointer = await look.at(path, this.texts)
      const target = pointer && /^gitdir: (.+)/.exec(pointer)?.[1]?.trim()
      if (target) {
        const git = isAbsolute(target) ? target : resolve(at, target)
        return (await this.headOf(git, look)) === undefined ? undefined : git
      }
      if (at === dirname(at)) return undefined
    }
  }

  private async commitOf(git: string, ref: string, look: Look): Promise<string | undefined> {
    const roots = await this.rootsOf(git)
    for (const root of roots) {
      const loose = (await look.at(join(root, ref), this.texts))?.trim()
      if (loose) return loose
    }
    const text = await look.at(join(roots.at(-1)!, 'packed-refs'), this.texts)
    if (text === undefined) {
      const inTables = await this.refInTables(roots.at(-1)!, ref, look)
      return inTables && 'commit' in inTables ? inTables.commit : undefined
    }
    if (this.packed?.text !== text || this.packed.ref !== ref) {
      this.packed = { text, ref, commit: text.split('\n').find((line) => line.endsWith(` ${ref}`))?.split(' ')[0] }
    }
    return this.packed.commit
  }

  /** A worktree's own folder, then that of its repository, which does not change while it is there. */
  private async rootsOf(git: string): Promise<readonly string[]> {
    if (!this.commons.has(git)) this.commons.set(git, (await this.texts.look(join(git, 'commondir')))?.trim())
    const common = this.commons.get(git)
    return common ? [git, resolve(git, common)] : [git]
  }

  /** The ref in the newest table that has it. */
  private async refInTables(git: string, name: string, look: Look): Promise<Ref | undefined> {
    const list = await look.at(join(git, 'reftable', 'tables.list'), this.texts)
    for (const file of list?.split('\n').filter((line) => /^[\w.-]+$/.test(line)).reverse() ?? []) {
      const table = await look.at(join(git, 'reftable', file), this.tables)
      if (table?.has(name)) return table.get(name)
    }
    return undefined
  }
}

/** What HEAD says: a branch, or a commit. */
function refIn(text: string): Ref {
  const target = /^ref: (refs\/[^\s]+)/.exec(text)?.[1]
  return target === undefined ? { commit: text.trim() } : { target }
}

/** Remembers what was looked at, and what it came to. */
class Look {
  private list: Looked[] = []

  get looked(): readonly Looked[] {
    return this.list
  }

  restart(): void {
    this.list = []
  }

  async at<T>(path: string, files: StampedFiles<T>): Promise<T | undefined> {
    const value = await files.look(path)
    this.list.push({ path, files, value })
    return value
  }
}
