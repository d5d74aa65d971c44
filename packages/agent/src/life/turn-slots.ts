import { AsyncLocalStorage } from 'node:async_hooks'

/** A slot that is taken, and by how many turns: one, and those that began inside of it. */
interface Slot {
  users: number
}

/**
 * Bounds the turns of an app that run at once; the others wait in the order they came.
 *
 * A turn may wait for one that begins inside of it, as a subagent's does. If all did, and the inner ones had to queue, nobody would ever
 * go on. So a turn in the upper half of the slots shares its slot with the turns that begin inside of it: such a turn never queues, it
 * ends, and its slot is handed on. In the lower half nothing is shared: following the asynchronous context costs each promise a little.
 */
export class TurnSlots {
  /** As configured; while turns wait for a person, the bound is one higher for each. */
  private readonly base: number
  private limit: number
  private readonly inside = new AsyncLocalStorage<Slot>()
  private readonly queue = new Set<() => void>()
  private taken = 0
  private turns = 0

  constructor(limit: number) {
    this.base = limit
    this.limit = limit
  }

  /** Turns that run, and that wait for a slot. */
  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.turns, waiting: this.queue.size }
  }

  /** Runs a turn as soon as there is a slot for it; not at all once `giveUp` is aborted. */
  async run(giveUp: AbortSignal, turn: () => Promise<void>): Promise<void> {
    const outer = this.inside.getStore()
    const shared = outer && outer.users > 0
    // Without a wait where one is free.
    if (!shared && !this.take() && !await this.wait(giveUp)) return
    const slot = shared ? outer : { users: 0 }
    slot.users++
    this.turns++
    try {
      await (shared || this.taken * 2 <= this.base ? turn() : this.inside.run(slot, turn))
    } finally {
      this.turns--
      if (--slot.users === 0) this.leave()
    }
  }

  /** True with a slot. */
  private take(): boolean {
    if (this.taken >= this.limit) return false
    this.taken++
    return true
  }

  /** Waits in the queue. True with a slot, which is taken by then. */
  private wait(giveUp: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const called = (): void => {
        giveUp.removeEventListener('abort', left)
        resolve(true)
      }
      const left = (): void => {
        this.queue.delete(called)
        resolve(false)
      }
      this.queue.add(called)
      giveUp.addEventListener('abort', left, { once: true })
    })
  }

  /**
   * One turn more while one waits for a person, who may take hours: it keeps its slot, for to give that back and to take it again would
   * lock parents and children out. Returns the call that ends it; the next slot that falls free is not handed on then.
   */
  lend(): () => void {
    this.limit++
    const [first] = this.queue
    if (first && this.take()) this.call(first)
    let lent = true
    return () => {
      if (lent) this.limit--
      lent = false
    }
  }

  /** Hands the slot to the turn that waits longest. */
  private leave(): void {
    const [first] = this.queue
    if (!first || this.taken > this.limit) return void this.taken--
    this.call(first)
  }

  private call(first: () => void): void {
    this.queue.delete(first)
    first()
  }
}
