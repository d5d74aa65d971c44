import { ModelError } from '@headrace/agent'

/** How long to wait for a model, in milliseconds; 0 means no limit. */
export interface Clocks {
  /** Until the first byte of an answer: a local model may take minutes to read its prompt. */
  readonly firstByte: number
  /** Between two bytes after the first. Keep-alives count as bytes. */
  readonly idle: number
  /** For the whole answer. */
  readonly whole: number
}

/** Milliseconds: 15 minutes until the first byte, 5 minutes between two, no limit for the whole answer. */
export const DEFAULT_CLOCKS: Clocks = { firstByte: 900_000, idle: 300_000, whole: 0 }
/** The longest delay of a Node timer. */
export const MAX_WAIT = 2 ** 31 - 1

/** Watches a request to a model: ends it when it is aborted, or when one of its timeouts is over. */
export class Watch {
  /** Passed to the model's request: aborted as soon as its answer is not needed any more. */
  readonly signal: AbortSignal
  private readonly controller = new AbortController()
  private readonly outer: AbortSignal
  private readonly clocks: Clocks
  private readonly provider: string
  private readonly onAbort = (): void => this.end(new ModelError({ kind: 'aborted', message: 'the request was aborted' }))
  private readonly whole: NodeJS.Timeout | undefined
  private silence: NodeJS.Timeout | undefined
  private reject: ((error: ModelError) => void) | undefined
  private ended: ModelError | undefined

  constructor(outer: AbortSignal, clocks: Clocks, provider: string) {
    this.signal = this.controller.signal
    this.outer = outer
    this.clocks = clocks
    this.provider = provider
    const { firstByte, whole } = clocks
    this.silence = this.timer(firstByte, false, `${provider} has not begun to answer after ${seconds(firstByte)} (its firstByte clock)`)
    this.whole = this.timer(whole, true, `${provider} has not ended its answer after ${seconds(whole)} (its whole clock)`)
    if (outer.aborted) this.onAbort()
    else outer.addEventListener('abort', this.onAbort, { once: true })
  }

  /** What ended the watch, if anything did. */
  get error(): ModelError | undefined {
    return this.ended
  }

  /** Notes that a byte came. */
  heard(): void {
    clearTimeout(this.silence)
    const { idle } = this.clocks
    this.silence = this.timer(idle, false, `${this.provider} sent nothing for ${seconds(idle)} (its idle clock)`)
  }

  /** Settles as the promise does, or rejects with what ended the watch, whichever is first. One at a time. */
  race<T>(promise: PromiseLike<T>): Promise<T> {
    // The consumer's time is not counted.
    this.silence?.refresh()
    return new Promise<T>((resolve, reject) => {
      this.reject = reject
      promise.then(resolve, reject)
      if (this.ended) reject(this.ended)
    }).finally(() => { this.reject = undefined })
  }

  /** Aborts what still runs and leaves nothing behind. */
  close(): void {
    clearTimeout(this.silence)
    clearTimeout(this.whole)
    this.outer.removeEventListener('abort', this.onAbort)
    this.controller.abort()
  }

  private timer(wait: number, always: boolean, message: string): NodeJS.Timeout | undefined {
    if (wait <= 0 || wait > MAX_WAIT) return undefined
    return setTimeout(() => {
      // A slow consumer does not count as silence of the model.
      if (always || this.reject) this.end(new ModelError({ kind: 'timeout', message }))
    }, wait)
  }

  private end(error: ModelError): void {
    this.ended ??= error
    this.controller.abort()
    this.reject?.(this.ended)
  }
}

function seconds(wait: number): string {
  return `${wait / 1000} s`
}
