import { readFile, readdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { GroupWatcher } from './group-watcher.ts'

/** The first interval of checking an ending group, doubled each time (milliseconds). */
const [FIRST_LOOK, LAST_LOOK] = [10, 160]
/**
 * How long to wait for a group after SIGKILL: what is left then hangs in the kernel, or is a zombie that its parent
 * never reaps.
 */
const LAST = 500

/** Groups with a live leader. They are sessions of their own: Ctrl-C does not reach them, and they would survive us. */
const living = new Set<number>()
/** Ends them where we cannot do it ourselves. */
const watcher = new GroupWatcher()

function killAll(): void {
  for (const id of living) send(id, 'SIGKILL')
}

/** Ends the group with our process, however that ends, until the returned function is called. */
export function endWithProcess(id: number): () => void {
  if (living.size === 0) process.on('exit', killAll)
  living.add(id)
  watcher.add(id)
  return () => {
    if (!living.delete(id)) return
    watcher.remove(id)
    if (living.size === 0) process.off('exit', killAll)
  }
}

/** Ends a process group: SIGTERM, and SIGKILL to what is left after `grace` milliseconds. True where there was anything to end. */
export function endGroup(id: number, grace: number): Promise<boolean> {
  return endGroups([id], grace)
}

/** The same for several at once, with one common grace period. */
export async function endGroups(ids: readonly number[], grace: number): Promise<boolean> {
  const living = await livingOf(ids)
  if (living.filter((id) => send(id, 'SIGTERM')).length === 0) return false
  for (const id of await leftAfter(living, grace)) send(id, 'SIGKILL')
  await leftAfter(living, LAST)
  return true
}

/** The groups that still run after so many milliseconds; resolves early when none does. */
async function leftAfter(ids: readonly number[], time: number): Promise<readonly number[]> {
  const end = Date.now() + time
  for (let [pause, left] = [FIRST_LOOK, ids]; ; pause = Math.min(2 * pause, LAST_LOOK)) {
    left = await livingOf(left)
    const rest = end - Date.now()
    if (left.length === 0 || rest <= 0) return left
    await delay(Math.min(pause, rest))
  }
}

/**
 * Those that still run. Groups of zombies only do not count: in a container without an init they may stay for ever, and
 * can still be signalled. Without /proc, a group that can be signalled counts as running.
 */
async function livingOf(ids: readonly number[]): Promise<readonly number[]> {
  const there = ids.filter((id) => send(id, 0))
  const names = there.length === 0 ? [] : (await readdir('/proc').catch((): string[] => [])).filter((name) => /^\d+$/.test(name))
  if (names.length === 0) return there
  const running = new Set<string>()
  for (const name of names) {
    const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '')
    // `pid (name) state parent group …`, and the name may have anything in it.
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (group !== undefined && state !== 'Z' && state !== 'X') running.add(group)
  }
  return there.filter((id) => running.has(String(id)))
}

function send(id: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-id, signal)
  } catch {
    return false // Nobody is left in it, or nobody whom we may signal.
  }
}
