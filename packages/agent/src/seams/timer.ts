export type Timer = ReturnType<typeof setTimeout> | undefined

/** More than Node's timers can wait for, `Infinity` included, is no limit; they would go off at once. */
const LONGEST = 2 ** 31 - 1

export function startTimer(milliseconds: number, act: () => void): Timer {
  return milliseconds > LONGEST ? undefined : setTimeout(act, milliseconds)
}
