import type { TurnEvent, TurnHandle } from '@headrace/agent'
import type { Told } from './feed.ts'

/** One message of a stream of Server-Sent Events. `JSON.stringify` gives no line breaks. */
function message(event: string, data: unknown, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/**
 * An event of the log is a `log` with its seq as id; a piece of an answer, or of a call, has its own name and no id: it
 * is not in the log.
 */
function encode(told: TurnEvent): string | undefined {
  if ('seq' in told) return message('log', told, told.seq)
  switch (told.type) {
    case 'text':
    case 'reasoning': return message(told.type, { text: told.text })
    case 'tool-call': return message(told.type, { index: told.index, id: told.id, name: told.name, arguments: told.arguments })
    case 'tool-start': return message(told.type, { index: told.index, id: told.id, name: told.name, input: told.input })
    case 'progress': return message(told.type, { index: told.index, from: told.from, at: told.at, text: told.text })
    default: return undefined
  }
}

/** A turn from its acceptance to its result. */
export async function* turnMessages(handle: TurnHandle): AsyncGenerator<string> {
  yield message('accepted', { prompt: handle.prompt })
  for await (const told of handle) {
    const text = encode(told)
    if (text !== undefined) yield text
  }
  const { reason, error, finish, text, usage, steps } = await handle.result
  yield message('result', { reason, error: error && { code: error.code, message: error.message }, finish, text, usage, steps })
}

/** What a {@link Feed} tells. */
export async function* feedMessages(feed: AsyncIterable<Told>): AsyncGenerator<string> {
  for await (const told of feed) {
    const text = told === 'skipped' ? message('skipped', {}) : encode(told)
    if (text !== undefined) yield text
  }
}

/** Of every stream. */
export const STREAM_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }

export interface StreamOptions {
  /** Milliseconds between keep-alives while there is nothing to send. */
  readonly heartbeat: number
  /** Milliseconds after which a reader that reads nothing is disconnected. */
  readonly stall: number
  /** Closes the connection. */
  readonly cut: () => void
  /** Called once, when the stream is over, whoever ended it. */
  readonly over: () => void
}

/** Sends messages as fast as they are read: none is made before there is room for it. */
export function eventStream(messages: AsyncGenerator<string>, { heartbeat, stall, cut, over }: StreamOptions): Response {
  const encoder = new TextEncoder()
  let coming: Promise<IteratorResult<string>> | undefined
  let stalled: NodeJS.Timeout | undefined
  let ended = false
  const end = (): void => {
    if (ended) return
    ended = true
    clearTimeout(stalled)
    over()
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      clearTimeout(stalled)
      coming ??= messages.next()
      const next = await within(coming, heartbeat)
      if (ended) return
      if (next) coming = undefined
      if (next?.done) {
        end()
        return controller.close()
      }
      controller.enqueue(encoder.encode(next ? next.value : ':\n\n'))
      stalled = setTimeout(cut, stall)
    },
    cancel() {
      end()
      // Not awaited: the next event may take long.
      void messages.return(undefined)
    },
  }, { highWaterMark: 0 })
  return new Response(body, { headers: { ...STREAM_HEADERS, 'transfer-encoding': 'chunked' } })
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
