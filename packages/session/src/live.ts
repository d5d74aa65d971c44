import { EventEmitter } from 'eventemitter3'

/** Called for an error that a listener threw. */
export type OnListenerError = (error: unknown) => void

/**
 * The live stream of one session, for code outside any plugin. Each listener is guarded: one that throws is reported and harms
 * neither its neighbours nor the log. What a listener emits is delivered after the current event has reached everyone.
 */
export class Live<Events extends { [K in keyof Events]: unknown }> {
  private readonly emitter = new EventEmitter<string>()
  private readonly waiting: [keyof Events & string, unknown, number][] = []
  /** Depth of the event being delivered: 0 for an event that no listener caused, 1 more for each listener in between. */
  private current: number | undefined
  onError: OnListenerError = (error) => queueMicrotask(() => { throw error })

  /** How many listeners in a row caused the event that is being delivered; 0 while none is. */
  get depth(): number {
    return this.current ?? 0
  }

  /**
   * Returns the call that takes the listener away.
   *
   * @param first what it is told before anything else
   */
  on<K extends keyof Events & string>(name: K, listener: (value: Events[K]) => void, first?: Iterable<Events[K]>): () => void {
    const guarded = (value: unknown): void => {
      try {
        const result: unknown = listener(value as Events[K])
        if (result instanceof Promise) result.catch((error: unknown) => this.report(error))
      } catch (error) {
        this.report(error)
      }
    }
    for (const value of first ?? []) guarded(value)
    this.emitter.on(name, guarded)
    return () => void this.emitter.off(name, guarded)
  }

  /** Delivers a value to every listener. */
  emit<K extends keyof Events & string>(name: K, value: Events[K]): void {
    if (this.current === undefined && this.emitter.listenerCount(name) === 0) return
    this.emitAll(name, [value])
  }

  /** Delivers several values in a row, before anything that listeners emit meanwhile. */
  emitAll<K extends keyof Events & string>(name: K, values: readonly Events[K][]): void {
    const causing = this.current
    if (causing === undefined && this.emitter.listenerCount(name) === 0) return
    for (const value of values) this.waiting.push([name, value, causing === undefined ? 0 : causing + 1])
    if (causing !== undefined) return
    try {
      for (let next = this.waiting.shift(); next; next = this.waiting.shift()) {
        this.current = next[2]
        this.emitter.emit(next[0], next[1])
      }
    } finally {
      this.current = undefined
    }
  }

  private report(error: unknown): void {
    try {
      this.onError(error)
    } catch (second) {
      queueMicrotask(() => { throw second })
    }
  }

  /** Removes all listeners. */
  clear(): void {
    this.emitter.removeAllListeners()
  }
}
