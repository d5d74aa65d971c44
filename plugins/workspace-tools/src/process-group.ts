import { readFile, readdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

/** How soon a group that ends is looked at again; twice as long each time (milliseconds). */
const [FIRST_LOOK, LAST_LOOK] = [10, 160]
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
  if (!send(id, 0) || !(await hasLiving(id)) || !send(id, 'SIGTERM')) return false
  if (await isGone(id, grace)) return true
  send(id, 'SIGKILL')
  await isGone(id, LAST)
  return true
}

async function isGone(id: number, time: number): Promise<boolean> {
  const end = Date.now() + time
  for (let pause = FIRST_LOOK; ; pause = Math.min(2 * pause, LAST_LOOK)) {
    if (!send(id, 0) || !(await hasLiving(id))) return true
    const left = end - Date.now()
    if (left <= 0) return false
    await delay(Math.min(pause, left))
  }
}

/**
 * False where all that is left of a group is dead and only waits for a parent to look: in a container without an init
 * that may be for ever, and it can still be signalled. True where there is no /proc to tell.
 */
async function hasLiving(id: number): Promise<boolean> {
  const names = await readdir('/proc').catch((): string[] => [])
  const members = names.filter((name) => /^\d+$/.test(name))
  if (members.length === 0) return true
  for (const name of members) {
    const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '')
    // `pid (name) state parent group …`, and the name may have anything in it.
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (group === String(id) && state !== 'Z' && state !== 'X') return true
  }
  return false
}

function send(id: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-id, signal)
  } catch {
    return false // Nobody is left in it, or nobody whom we may signal.
  }
}
