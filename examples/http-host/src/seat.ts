import type { Agent } from '@headrace/agent'

/** A session that is driven in this process, and who uses it. */
export class Seat {
  readonly agent: Agent
  readonly user: string
  /** Aborted when the session is closed: streams of its events end. */
  readonly gone = new AbortController()
  private users = 0
  private timer: NodeJS.Timeout | undefined
  private readonly idle: number
  private readonly release: () => void

  constructor(agent: Agent, user: string, { idle, release }: { readonly idle: number; readonly release: () => void }) {
    this.agent = agent
    this.user = user
    this.idle = idle
    this.release = release
    this.rest()
  }

  /** Keeps the session open until the returned function is called. */
  use(): () => void {
    clearTimeout(this.timer)
    this.users++
    let over = false
    return () => {
      if (over) return
      over = true
      if (--this.users === 0) this.rest()
    }
  }

  leave(): void {
    clearTimeout(this.timer)
    this.gone.abort()
  }

  private rest(): void {
    if (!this.gone.signal.aborted) this.timer = setTimeout(this.release, this.idle).unref()
  }
}
