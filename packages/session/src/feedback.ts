import { LogError } from './error.ts'

/** Most listeners that may cause each other in a row. */
const DEEPEST = 100
/** Most appends from outside the loop beyond the rates below. */
const MOST = 10_000
/** Appends that each step allows. */
const PER_STEP = 100
/** Sustained rate: a plugin that logs each piece of an answer is slower, a listener that answers itself is faster. */
const PER_MILLISECOND = 0.5

/** Bounds feedback loops, in which listeners answer their own appends, at once or later: they would fill log and memory. */
export class FeedbackBound {
  private count = 0
  /** Set at the bound, cleared at half of it: otherwise a loop would live on the allowance of each step. */
  private full = false
  private last = 0

  /**
   * @param depth number of listeners that caused each other in a row
   * @param weight number of appends that this one counts as
   * @param now milliseconds of a monotonic clock
   * @throws LogError
   */
  check(depth: number, weight = 1, now = performance.now()): void {
    if (depth >= DEEPEST) {
      throw new LogError(`a listener answers events that it caused itself, ${DEEPEST} times in a row; look at the event before you answer it`, undefined, 'LOG_FEEDBACK')
    }
    const count = Math.max(0, this.count - (now - this.last) * PER_MILLISECOND)
    this.last = now
    this.full = count + weight > (this.full ? MOST / 2 : MOST)
    if (this.full) {
      this.count = count
      throw new LogError(`${MOST} appends from outside the loop, more than ${PER_STEP} a step and ${PER_MILLISECOND * 1_000} a second: a listener that answers its own events would never end; look at the event before you answer it`, undefined, 'LOG_FEEDBACK')
    }
    this.count = count + weight
  }

  /** Counts a step: appending something for each step is no feedback loop. */
  step(): void {
    this.count = Math.max(0, this.count - PER_STEP)
  }
}
