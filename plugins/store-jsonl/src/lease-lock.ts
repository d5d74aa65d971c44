import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Holder, describeHolder, giveUp, isAlive, newHolder, parseHolder } from '@headrace/session'
import { isCode } from './files.ts'

/** The lock is held by a live process, or one that may be alive. */
export class LockedError extends Error {
  readonly holder: string

  constructor(path: string, holder: Holder) {
    super(describeHolder(holder, `delete ${path}`))
    this.holder = this.message
  }
}

/**
 * An exclusive lock across processes: a file that names its holder, linked into place whole. A dead holder is replaced
 * by the process that links a claim named after the dead one's token; a dead claimant is replaced the same way. Nobody
 * but the claimant may touch a dead lock, so two processes that find it at once cannot both win.
 */
export class Lock {
  private readonly path: string
  private readonly token: string
  private readonly mark: string | undefined

  private constructor(path: string, token: string, mark: string | undefined) {
    this.path = path
    this.token = token
    this.mark = mark
  }

  /** @throws LockedError */
  static take(path: string): Lock {
    const me = newHolder()
    const draft = `${path}.${me.token}`
    writeFileSync(draft, JSON.stringify(me), { flag: 'wx', mode: 0o600, flush: true })
    try {
      const lock = new Lock(path, me.token, markOf(draft))
      while (!link(draft, path)) {
        const holder = read(path)
        if (holder && takeOver(path, draft, holder)) break
      }
      return lock
    } finally {
      rmSync(draft, { force: true })
    }
  }

  /** False once the file is gone or somebody else's. */
  get held(): boolean {
    return markOf(this.path) === this.mark || read(this.path)?.token === this.token
  }

  /** Who holds it now, in words. */
  get holder(): string {
    const holder = read(this.path)
    return holder ? new LockedError(this.path, holder).holder : 'nobody: its lock file was removed'
  }

  release(): void {
    if (this.held) rmSync(this.path, { force: true })
  }

  /** The lock could not be released; it does not block this process. */
  giveUp(): void {
    giveUp(this.token)
  }

  /** Who holds a lock, in words; undefined where no live process does. */
  static holderOf(path: string): string | undefined {
    const holder = read(path)
    return holder && isAlive(holder) ? new LockedError(path, holder).holder : undefined
  }
}

/** Replaces a dead holder's file by the draft. False where that file is gone by now. */
function takeOver(path: string, draft: string, stale: Holder): boolean {
  const claims: string[] = []
  for (let dead = stale; ;) {
    if (isAlive(dead)) throw new LockedError(path, dead)
    const claim = `${path}.after-${dead.token}`
    claims.push(claim)
    if (link(draft, claim)) break
    const claimant = read(claim)
    if (!claimant) return false
    dead = claimant
  }
  try {
    // A slow process may have read the dead holder before another replaced it, and claim it afterwards: so check again.
    const isStale = read(path)?.token === stale.token
    if (isStale) renameSync(draft, path)
    // Tokens are never reused: claims on a replaced holder have no effect.
    for (const claim of claims) rmSync(claim, { force: true })
    return isStale
  } catch (error) {
    rmSync(claims.at(-1)!, { force: true })
    throw error
  }
}

function link(draft: string, path: string): boolean {
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  }
}

function read(path: string): Holder | undefined {
  try {
    const holder = parseHolder(readFileSync(path, 'utf8'))
    if (holder) return holder
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
  // Locks are linked whole: a broken one was cut by a power failure, which ended its holder too.
  return { token: `broken-${markOf(path)}`, pid: 0, host: hostname(), start: '', since: 'an unknown time' }
}

function markOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat && `${stat.ino}-${stat.mtimeNs}`
}
