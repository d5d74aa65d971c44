import { type Context, Script, createContext } from 'node:vm'

const script = new Script('work()')
let room: Context | undefined

/**
 * Runs synchronous `work`, and ends it after `time` milliseconds, even inside a regular expression that backtracks: that
 * holds the thread, so no timer of ours would run.
 *
 * @throws what `work` throws; Error with the code `ERR_SCRIPT_EXECUTION_TIMEOUT`
 */
export function timeBoxed<T>(work: () => T, time: number): T {
  room ??= createContext(Object.create(null) as Context)
  room.work = work
  try {
    return script.runInContext(room, { timeout: time }) as T
  } finally {
    room.work = undefined
  }
}
