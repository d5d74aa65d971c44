import { LogError } from './error.ts'

/** Listeners that answer each other's events in a row. */
const DEEPEST = 100
/** Appends from outside the loop without a pause in which anything else could run. */
const MOST = 10_000

/** Bounds what listeners append in answer to what they appended: without end, it would hold the process for ever. */
export class FeedbackBound {
  private count = 0

  /**
   * @param depth how many listeners caused each other in a row
   * @throws LogError
   */
  check(depth: number): void {
    if (depth >= DEEPEST) {
      throw new LogError(`a listener answers events that it caused itself, ${DEEPEST} times in a row; look at the event before you answer it`, undefined, 'LOG_FEEDBACK')
    }
    if (this.count === 0) setImmediate(() => (this.count = 0)).unref()
    if (++this.count > MOST) {
      throw new LogError(`${MOST} appends without a pause: a listener that answers its own events would never end; let others run in between`, undefined, 'LOG_FEEDBACK')
    }
  }
}
