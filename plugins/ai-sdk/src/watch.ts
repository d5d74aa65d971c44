import { ModelError } from '@headrace/agent'

/** Milliseconds. */
export const DEFAULT_TIMEOUT = 300_000
/** Node's `fetch` gives up by itself after five minutes without a byte. */
export const MAX_TIMEOUT = 300_000

/** Waits for a model no longer than it may: until the request is aborted, or nothing came for too long. */
export class Watch {
  /** For the model: aborted as soon as its answer is no use any more. */
  readonly signal: AbortSignal
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal
  readonly #timer: NodeJS.Timeout
  readonly #onAbort = (): void => this.#end(new ModelError({ kind: 'aborted', message: 'the request was aborted' }))
  #reject: ((error: ModelError) => void) | undefined
  #error: ModelError | undefined

  constructor(outer: AbortSignal, timeout: number, provider: string) {
    this.signal = this.#controller.signal
    this.#outer = outer
    this.#timer = setTimeout(() => {
      // A consumer that takes its time is not the model's fault.
      if (this.#reject) this.#end(new ModelError({ kind: 'timeout', message: `${provider} sent nothing for ${timeout / 1000} s` }))
    }, timeout)
    if (outer.aborted) this.#onAbort()
    else outer.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** What ended the watch, if anything did. */
  get error(): ModelError | undefined {
    return this.#error
  }

  /** Settles as the promise does, or rejects with what ended the watch, whichever is first. One at a time. */
  race<T>(promise: PromiseLike<T>): Promise<T> {
    this.#timer.refresh()
    return new Promise<T>((resolve, reject) => {
      this.#reject = reject
      promise.then(resolve, reject)
      if (this.#error) reject(this.#error)
    }).finally(() => { this.#reject = undefined })
  }

  /** Aborts what still runs and leaves nothing behind. */
  close(): void {
    clearTimeout(this.#timer)
    this.#outer.removeEventListener('abort', this.#onAbort)
    this.#controller.abort()
  }

  #end(error: ModelError): void {
    this.#error ??= error
    this.#controller.abort()
    this.#reject?.(this.#error)
  }
}
