import type { ServerConnection } from './connection.ts'

/** Milliseconds that a boundary waits for a list that a server has just said to have changed. */
const LIST_WAIT = 1_000

/** All servers: started together, waited for once. */
export class ServerPool {
  private readonly connections: ServerConnection[] = []
  private readonly firstWait: number
  /** Resolves when each first start is over, or its time is up. */
  private first: Promise<unknown> | undefined
  private settled = false
  private roots: string | undefined

  constructor(firstWait: number) {
    this.firstWait = firstWait
  }

  add(connection: ServerConnection): void {
    this.connections.push(connection)
  }

  /** Starts all servers, in the background. */
  begin(): void {
    this.first ??= within(this.firstWait, Promise.all(this.connections.map((connection) => connection.begin()))).then(() => {
      this.settled = true
    })
  }

  /**
   * Resolves when the first start of each server is over, or its time is up; at the latest after `limit` milliseconds.
   */
  started(limit: number): Promise<void> | undefined {
    this.begin()
    return this.settled ? undefined : within(limit, this.first!)
  }

  /**
   * Ahead of a boundary: resolves when the first start of each server is over and no list is being read, or when the
   * time is up.
   */
  ready(signal: AbortSignal): Promise<void> | undefined {
    this.begin()
    if (this.settled && this.readings().length === 0) return undefined
    return untilAborted(Promise.resolve(this.first).then(() => within(LIST_WAIT, Promise.all(this.readings()))), signal)
  }

  private readings(): readonly Promise<void>[] {
    return this.connections.flatMap((connection) => connection.reading ?? [])
  }

  /** Tells the servers where the roots are others than at the last look; at the first they have asked, or will. */
  rootsChanged(roots: readonly string[]): void {
    const text = roots.join('\n')
    if (this.roots !== undefined && this.roots !== text) for (const connection of this.connections) connection.rootsChanged()
    this.roots = text
  }

  async close(): Promise<void> {
    await Promise.all(this.connections.map((connection) => connection.close()))
  }
}

async function within(limit: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limit)
  })
  await Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** Resolves when the work is done, or the signal is aborted. */
async function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  let stop = (): void => undefined
  const aborted = new Promise<void>((resolve) => {
    stop = resolve
    if (signal.aborted) resolve()
    signal.addEventListener('abort', stop, { once: true })
  })
  await Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', stop))
}
