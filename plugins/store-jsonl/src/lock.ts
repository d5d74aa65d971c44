import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { isCode } from './files.ts'

/** Who holds a lock. */
interface Holder {
  readonly token: string
  readonly pid: number
  readonly host: string
  /** Boot and start time of the process, so that a pid used again is not taken for it; empty where the system does not tell. */
  readonly start: string
  readonly since: string
}

/** The lock is somebody's who lives, or may live. */
export class LockedError extends Error {
  readonly holder: string

  constructor(path: string, { pid, host, since }: Holder) {
    const far = host === hostname() ? '' : `, another machine: whether it lives cannot be seen from here; if it does not, delete ${path}`
    const holder = `${pid === process.pid && !far ? `this process (pid ${pid})` : `pid ${pid} on ${host}`} since ${since}${far}`
    super(holder)
    this.holder = holder
  }
}

/**
 * An exclusive lock across processes: a file that names its holder, linked into place whole. A holder that died is replaced by the one
 * that links the claim named after the dead one's token; a claimant that died is replaced the same way. Nobody but the claimant may
 * touch a dead lock, so two that find it at once cannot both win.
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
    const me: Holder = { token: randomUUID(), pid: process.pid, host: hostname(), start: startOf(process.pid) ?? '', since: new Date().toISOString() }
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
}

/** Puts the draft in the place of a dead holder's file. False where that file is gone by now. */
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
    // A slow one may have read the dead holder before another replaced it, and claim it after: hence this second look.
    const isStale = read(path)?.token === stale.token
    if (isStale) renameSync(draft, path)
    // Tokens do not come back: claims on a holder that was replaced mean nothing to anybody.
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
    const holder = JSON.parse(readFileSync(path, 'utf8')) as Holder | null
    if (holder && /^[0-9a-f-]{36}$/.test(holder.token) && Number.isSafeInteger(holder.pid) && holder.pid > 0) return holder
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    if (!(error instanceof SyntaxError)) throw error
  }
  // Locks are linked whole: a broken one was cut by a power failure, and its holder with it.
  return { token: `broken-${markOf(path)}`, pid: 0, host: hostname(), start: '', since: 'an unknown time' }
}

function markOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat && `${stat.ino}-${stat.mtimeNs}`
}

function isAlive({ pid, host, start }: Holder): boolean {
  if (host !== hostname()) return true
  const now = pid > 0 ? startOf(pid) : undefined
  return now !== undefined && (now === '' || start === '' || now === start)
}

/** Boot and start time of a process; empty where it lives and the system does not tell, undefined where it is dead. */
function startOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (isCode(error, 'ESRCH')) return undefined
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie has ended; only its parent has not looked yet.
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()}/${fields[19]}`
  } catch {
    return ''
  }
}
