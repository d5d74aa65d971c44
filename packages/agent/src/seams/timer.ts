import { setMaxListeners } from 'node:events'

export type Timer = ReturnType<typeof setTimeout> | undefined

/** Longer delays, `Infinity` included, mean no limit: Node's timers would fire at once. */
const LONGEST = 2 ** 31 - 1

export function startTimer(milliseconds: number, act: () => void): Timer {
  return milliseconds > LONGEST ? undefined : setTimeout(act, milliseconds)
}

/** An abort controller that any number may listen to: a turn's signal has a listener for each call that runs. */
export function abortController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
