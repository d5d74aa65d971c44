import { EventEmitter } from 'eventemitter3'

/** Called for an error that a listener threw. */
export type OnListenerError = (error: unknown) => void

/**
 * The live stream of one session, for code outside any plugin. Each listener is guarded: one that throws is reported and harms
 * neither its neighbours nor the log. What is emitted from inside a listener is delivered after the present one reached everyone.
 */
export class Live<Events extends { [K in keyof Events]: unknown }> {
  private readonly emitter = new EventEmitter<string>()
  private readonly waiting: [keyof Events & string, unknown][] = []
  private delivering = false
  onError: OnListenerError = (error) => queueMicrotask(() => { throw error })

  /** Returns the call that takes the listener away. */
  on<K extends keyof Events & string>(name: K, listener: (value: Events[K]) => void): () => void {
    const guarded = (value: unknown): void => {
      try {
        const result: unknown = listener(value as Events[K])
        if (result instanceof Promise) result.catch((error: unknown) => this.report(error))
      } catch (error) {
        this.report(error)
      }
    }
    this.emitter.on(name, guarded)
    return () => void this.emitter.off(name, guarded)
  }

  /** Tells every listener. */
  emit<K extends keyof Events & string>(name: K, value: Events[K]): void {
    this.emitAll(name, [value])
  }

  /** Delivers several values in a row, ahead of what listeners emit meanwhile. */
  emitAll<K extends keyof Events & string>(name: K, values: readonly Events[K][]): void {
    if (!this.delivering && this.emitter.listenerCount(name) === 0) return
    for (const value of values) this.waiting.push([name, value])
    if (this.delivering) return
    this.delivering = true
    try {
      for (let next = this.waiting.shift(); next; next = this.waiting.shift()) this.emitter.emit(next[0], next[1])
    } finally {
      this.delivering = false
    }
  }

  private report(error: unknown): void {
    try {
      this.onError(error)
    } catch (second) {
      queueMicrotask(() => { throw second })
    }
  }

  /** Takes all listeners away. */
  clear(): void {
    this.emitter.removeAllListeners()
  }
}
