import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** The holder of an exclusive resource (L18). For stores: plain JSON, kept where all processes see it. */
export interface Holder {
  /** Unique for each acquisition. */
  readonly token: string
  readonly pid: number
  readonly host: string
  /** Boot and start time of the process, to detect a reused pid; empty where the system does not tell. */
  readonly start: string
  readonly since: string
}

/** This process, as the holder of one more thing. */
export function newHolder(): Holder {
  return { token: randomUUID(), pid: process.pid, host: hostname(), start: startOf(process.pid) ?? '', since: new Date().toISOString() }
}

/** A holder from its JSON; undefined where it is none. */
export function parseHolder(text: string): Holder | undefined {
  try {
    const holder = JSON.parse(text) as Holder | null
    if (holder && /^[0-9a-f-]{36}$/.test(holder.token) && Number.isSafeInteger(holder.pid) && holder.pid > 0) return holder
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  return undefined
}

/** Tokens that this process released without being able to record that for others. */
const givenBack = new Set<string>()

/** Marks a token as released in this process, so that the next acquisition here is not blocked. */
export function giveUp(token: string): void {
  givenBack.add(token)
}

/** False for a process known to be dead, and for tokens released here; a holder on another machine counts as alive. */
export function isAlive({ token, pid, host, start }: Holder): boolean {
  if (givenBack.has(token)) return false
  if (host !== hostname()) return true
  const now = pid > 0 ? startOf(pid) : undefined
  return now !== undefined && (now === '' || start === '' || now === start)
}

/** The holder in words; for one on another machine also what to do if it is dead, such as `delete /logs/a.lock`. */
export function describeHolder({ pid, host, since }: Holder, wayOut: string): string {
  const far = host === hostname() ? '' : `, another machine: whether it lives cannot be seen from here; if it does not, ${wayOut}`
  return `${pid === process.pid && !far ? `this process (pid ${pid})` : `pid ${pid} on ${host}`} since ${since}${far}`
}

/** Boot and start time of a process; empty where it lives and the system does not tell, undefined where it is dead. */
function startOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return undefined
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie has exited; its parent has not waited for it yet.
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()}/${fields[19]}`
  } catch {
    return ''
  }
}
