import { setTimeout as delay } from 'node:timers/promises'

/** How often a group is looked at while it ends (milliseconds). */
const POLL = 20
/** How long a group that got SIGKILL is waited for: what is left then hangs in the kernel, or waits for a parent that never looks. */
const LAST = 500

/** Groups with a living leader. They are their own sessions, so a Ctrl-C does not reach them, and our end would leave them behind. */
const living = new Set<number>()

function killAll(): void {
  for (const id of living) send(id, 'SIGKILL')
}

/** Ends the group with our process, until the returned function is called. */
export function endWithProcess(id: number): () => void {
  if (living.size === 0) process.on('exit', killAll)
  living.add(id)
  return () => {
    if (living.delete(id) && living.size === 0) process.off('exit', killAll)
  }
}

/** Ends a process group: SIGTERM, and SIGKILL to what is left after `grace` milliseconds. True where there was anything to end. */
export async function endGroup(id: number, grace: number): Promise<boolean> {
  if (!send(id, 'SIGTERM')) return false
  if (await isGone(id, grace)) return true
  send(id, 'SIGKILL')
  await isGone(id, LAST)
  return true
}

async function isGone(id: number, time: number): Promise<boolean> {
  for (const end = Date.now() + time; Date.now() < end;) {
    if (!send(id, 0)) return true
    await delay(POLL)
  }
  return !send(id, 0)
}

function send(id: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-id, signal)
  } catch {
    return false // Nobody is left in it, or nobody whom we may signal.
  }
}
