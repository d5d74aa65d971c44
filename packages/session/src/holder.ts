import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** Who holds something that one process at a time may hold (L18). For stores: plain JSON, to be kept where all processes see it. */
export interface Holder {
  /** Never comes back: one for each time that something is taken. */
  readonly token: string
  readonly pid: number
  readonly host: string
  /** Boot and start time of the process, so that a pid used again is not taken for it; empty where the system does not tell. */
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

/** What this process gave back, though that could not be written down where all see it. */
const givenBack = new Set<string>()

/** Says that this process holds nothing by that token any more: it is no obstacle to whoever comes next here. */
export function giveUp(token: string): void {
  givenBack.add(token)
}

/** False for a process that is known to be dead, and for what this one gave back; of another machine nothing is known. */
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
    // A zombie has ended; only its parent has not looked yet.
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()}/${fields[19]}`
  } catch {
    return ''
  }
}
