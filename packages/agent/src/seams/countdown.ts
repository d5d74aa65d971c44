import { type Timer, startTimer } from './timer.ts'

/** A timer that can stand still: what waits for a person costs no time. It goes on when all have that paused it. */
export class Countdown {
  private left: number
  private since = performance.now()
  private timer: Timer
  private pauses = 0
  private over = false
  private readonly act: () => void

  constructor(milliseconds: number, act: () => void) {
    this.left = milliseconds
    this.act = act
    this.timer = startTimer(milliseconds, act)
  }

  /** Returns the call that goes on. */
  pause(): () => void {
    if (this.pauses++ === 0) {
      clearTimeout(this.timer)
      this.left -= performance.now() - this.since
    }
    let paused = true
    return () => {
      if (!paused) return
      paused = false
      if (--this.pauses > 0 || this.over) return
      this.since = performance.now()
      this.timer = startTimer(Math.max(0, this.left), this.act)
    }
  }

  stop(): void {
    this.over = true
    clearTimeout(this.timer)
  }
}
