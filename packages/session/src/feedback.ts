import { LogError } from './error.ts'

/** Listeners that answer each other's events in a row. */
const DEEPEST = 100
/** Appends from outside the loop that come faster than steps and `PER_MILLISECOND` allow. */
const MOST = 10_000
/** What each step of the loop allows. */
const PER_STEP = 100
/** At this rate they may come for ever: a plugin that notes each piece of an answer is slower, a listener that answers itself is faster. */
const PER_MILLISECOND = 0.5

/** Bounds what listeners append in answer to what they appended, at once or later: without end, it would fill the log and the memory. */
export class FeedbackBound {
  private count = 0
  /** Once it was too much, it is again until half of that has passed: a loop would go on with what little each step allows. */
  private full = false
  private last = 0

  /**
   * @param depth how many listeners caused each other in a row
   * @param weight appends that this one counts for
   * @param now in milliseconds, of a clock that does not go back
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

  /** A step begins: whoever adds something to each is no loop of its own. */
  step(): void {
    this.count = Math.max(0, this.count - PER_STEP)
  }
}
