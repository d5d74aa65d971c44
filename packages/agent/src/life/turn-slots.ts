import { AsyncLocalStorage } from 'node:async_hooks'

/** A place that is taken, and by how many turns: one, and those that began inside of it. */
interface Place {
  users: number
}

/**
 * The turns of an app that run at once: not more than there are places; the others wait in the order they came.
 *
 * A turn may wait for one that begins inside of it, as a subagent's does. If all did, and those stood in line, nobody would ever go on. So
 * a turn in the upper half of the places lets what begins inside of it share its place: such a turn never waits for the line, it ends,
 * and hands its place on. In the lower half nothing is shared: to follow what begins inside of what costs each promise a little.
 */
export class Places {
  private readonly limit: number
  private readonly inside = new AsyncLocalStorage<Place>()
  private readonly line = new Set<() => void>()
  private taken = 0
  private turns = 0

  constructor(limit: number) {
    this.limit = limit
  }

  /** Turns that run, and that wait for a place. */
  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.turns, waiting: this.line.size }
  }

  /** Runs a turn as soon as there is a place for it; not at all once `giveUp` is aborted. */
  async run(giveUp: AbortSignal, turn: () => Promise<void>): Promise<void> {
    const outer = this.inside.getStore()
    const shared = outer && outer.users > 0
    // Without a wait where one is free.
    if (!shared && !this.take() && !await this.stand(giveUp)) return
    const place = shared ? outer : { users: 0 }
    place.users++
    this.turns++
    try {
      await (shared || this.taken * 2 <= this.limit ? turn() : this.inside.run(place, turn))
    } finally {
      this.turns--
      if (--place.users === 0) this.leave()
    }
  }

  /** True with a place. */
  private take(): boolean {
    if (this.taken >= this.limit) return false
    this.taken++
    return true
  }

  /** Waits in line. True with a place, which is taken by then. */
  private stand(giveUp: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const called = (): void => {
        giveUp.removeEventListener('abort', left)
        resolve(true)
      }
      const left = (): void => {
        this.line.delete(called)
        resolve(false)
      }
      this.line.add(called)
      giveUp.addEventListener('abort', left, { once: true })
    })
  }

  /** Hands the place to who waits longest. */
  private leave(): void {
    const [first] = this.line
    if (!first) return void this.taken--
    this.line.delete(first)
    first()
  }
}
