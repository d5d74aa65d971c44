/** Shares one sync between all callers (L17): those that come while one runs share the next. For stores. */
export class SharedSync {
  private readonly sync: () => Promise<void>
  private written = 0
  /** How much is known to be on disk. -1 at first: an earlier process may have written without a sync. */
  private synced = -1
  private running: { readonly upTo: number; readonly done: Promise<void> } | undefined
  private waiting: Promise<void> | undefined
  private failure: { readonly error: unknown } | undefined

  constructor(sync: () => Promise<void>) {
    this.sync = sync
  }

  /** Notes a write: only a sync that begins later covers it. */
  wrote(): void {
    this.written++
  }

  /**
   * Resolves when everything written so far is synced. After a failed sync it rejects for good: it is unknown what that sync left on
   * disk, and a second one may report success for it.
   */
  async flush(): Promise<void> {
    const { failure, running, written } = this
    if (failure) throw failure.error
    if (this.synced === written) return
    if (!running) return this.start()
    if (running.upTo === written) return running.done
    return (this.waiting ??= running.done.then(() => {
      this.waiting = undefined
      return this.flush()
    }))
  }

  /** Resolves when no sync runs. */
  async idle(): Promise<void> {
    while (this.running) await this.running.done.catch(() => undefined)
  }

  private start(): Promise<void> {
    const upTo = this.written
    const done = this.sync().then(
      () => {
        this.running = undefined
        this.synced = upTo
      },
      (error: unknown) => {
        this.running = undefined
        this.failure = { error }
        throw error
      },
    )
    this.running = { upTo, done }
    return done
  }
}
