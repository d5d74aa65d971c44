/** Who waits for something of a session, in one process. */
export class Signals {
  private readonly listeners = new Map<string, Set<() => void>>()

  /** Returns the call that takes the listener away. */
  on(id: string, listener: () => void): () => void {
    const own = this.listeners.get(id) ?? new Set()
    // One of its own, so that a listener may stand twice.
    const entry = (): void => listener()
    this.listeners.set(id, own.add(entry))
    return () => {
      own.delete(entry)
      if (own.size === 0 && this.listeners.get(id) === own) this.listeners.delete(id)
    }
  }

  /** True where somebody waits. */
  has(id: string): boolean {
    return this.listeners.has(id)
  }

  /** Tells who listens to a session. */
  emit(id: string): void {
    for (const listener of this.listeners.get(id) ?? []) listener()
  }

  /** Tells everybody. */
  emitAll(): void {
    for (const id of this.listeners.keys()) this.emit(id)
  }
}
