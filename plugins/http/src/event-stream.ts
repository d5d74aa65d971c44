/** Of every stream. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
}

/**
 * One message of a stream of Server-Sent Events. An empty id makes the reader forget the one it had. `JSON.stringify` gives no line breaks.
 */
export function message(event: string | undefined, data: unknown, id?: string): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`
}

/** What a stream says: a text, or its bytes where several readers are told the same. */
export type Said = string | Uint8Array

/** Bytes of messages while a reader has them: a hundred that are slow hold a long one once. */
export class SharedBytes {
  private readonly known = new Map<string, WeakRef<Uint8Array>>()
  private readonly gone = new FinalizationRegistry<string>((key) => {
    if (this.known.get(key)?.deref() === undefined) this.known.delete(key)
  })

  /** The bytes of that key, made where nobody has them. */
  of(key: string, make: () => string): Uint8Array {
    const known = this.known.get(key)?.deref()
    if (known) return known
    const bytes = new TextEncoder().encode(make())
    this.known.set(key, new WeakRef(bytes))
    this.gone.register(bytes, key)
    return bytes
  }
}

export interface StreamOptions {
  /** Milliseconds between comments while there is nothing to send. */
  readonly heartbeat: number
  /** Milliseconds after which a reader that reads nothing is disconnected. */
  readonly stall: number
  readonly headers?: Readonly<Record<string, string>>
  /** Closes the connection. Default: the body fails, which closes it too. */
  readonly cut?: (() => void) | undefined
  /** Called once, when the stream is over, whoever ended it. */
  readonly over: () => void
}

/** Bytes that are given to a connection at once: of a long message the rest is given as it is read. */
const PART = 65_536

/** Sends messages as fast as they are read: none is asked for before there is room for it. */
export function eventStream(messages: AsyncGenerator<Said>, { heartbeat, stall, headers, cut, over }: StreamOptions): Response {
  const encoder = new TextEncoder()
  let coming: Promise<IteratorResult<Said>> | undefined
  let rest: Uint8Array = new Uint8Array()
  let stalled: NodeJS.Timeout | undefined
  let ended = false
  const end = (): void => {
    if (ended) return
    ended = true
    clearTimeout(stalled)
    over()
  }
  const give = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    controller.enqueue(rest.subarray(0, PART))
    rest = rest.subarray(PART)
    stalled = setTimeout(() => {
      end()
      void messages.return(undefined)
      if (cut) cut()
      else controller.error(new Error('the reader takes nothing'))
    }, stall)
    stalled.unref()
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      clearTimeout(stalled)
      if (rest.length > 0) return give(controller)
      coming ??= messages.next()
      let next: IteratorResult<Said> | undefined
      try {
        next = await within(coming, heartbeat)
      } catch (error) {
        end()
        throw error
      }
      if (ended) return
      if (next) coming = undefined
      if (next?.done) {
        end()
        return controller.close()
      }
      const said = next ? next.value : ':\n\n'
      rest = typeof said === 'string' ? encoder.encode(said) : said
      give(controller)
    },
    cancel() {
      end()
      // Not awaited: the next event may take long.
      void messages.return(undefined)
    },
  }, { highWaterMark: 0 })
  return new Response(body, { headers: { ...STREAM_HEADERS, ...headers } })
}

/** The value of a promise, or undefined where it takes longer. */
async function within<T>(promise: Promise<T>, milliseconds: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, milliseconds, undefined)))
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
