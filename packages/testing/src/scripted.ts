import type { Chunk, Failure, FinishReason, Request, Usage } from '@headrace/message'
import { type Adapter, ModelError } from '@headrace/agent'

/** One answer of a scripted model. A string is its text. */
export type Reply = string | {
  readonly text?: string
  readonly reasoning?: string
  readonly calls?: readonly { readonly name: string; readonly arguments?: object | string; readonly id?: string }[]
  readonly usage?: Partial<Usage>
  readonly finish?: FinishReason
  /** Fails, after what else the reply holds was streamed. */
  readonly error?: Partial<Failure>
  /** Never ends, after what else the reply holds was streamed, until the request is aborted. */
  readonly hang?: true
  /** Pieces of text, each a chunk. Default: one. */
  readonly pieces?: number
}

/** Replies in turn (the last one repeats), or a function of the request and its number, from 0. */
export type Script = readonly Reply[] | ((request: Request, index: number) => Reply | Promise<Reply>)

/** A request as the adapter got it, its messages materialised. */
export type SeenRequest = Request

export interface ScriptedAdapter extends Adapter {
  readonly requests: readonly SeenRequest[]
}

/**
 * A model that answers from a script and keeps every request it got. For tests; use `@headrace/model-server` for one
 * that speaks a real protocol.
 */
export function scriptedAdapter(script: Script): ScriptedAdapter {
  const requests: SeenRequest[] = []
  return {
    requests,
    async *stream(request) {
      const index = requests.push(request) - 1
      const reply = typeof script === 'function' ? await script(request, index) : script[Math.min(index, script.length - 1)]
      if (reply === undefined) throw new ModelError({ kind: 'invalid', message: `the script has no reply for request ${index}` })
      yield* chunksOf(typeof reply === 'string' ? { text: reply } : reply, index, request.signal)
    },
  }
}

async function* chunksOf(reply: Exclude<Reply, string>, index: number, signal: AbortSignal): AsyncIterable<Chunk> {
  if (reply.reasoning !== undefined) yield { type: 'reasoning', text: reply.reasoning }
  for (const text of pieces(reply.text ?? '', reply.pieces ?? 1)) yield { type: 'text', text }
  for (const [position, call] of (reply.calls ?? []).entries()) {
    const text = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {})
    yield { type: 'tool-call', index: position, id: call.id ?? `call_${index}_${position}`, name: call.name, arguments: text }
  }
  if (reply.hang) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true }))
  if (reply.error) throw new ModelError({ kind: 'server', message: 'the script says so', ...reply.error })
  yield { type: 'usage', usage: { input: 0, cached: 0, written: 0, output: 0, ...reply.usage } }
  yield { type: 'finish', reason: reply.finish ?? (reply.calls ? 'tool-calls' : 'stop') }
}

function pieces(text: string, count: number): readonly string[] {
  if (text === '') return []
  const size = Math.ceil(text.length / count)
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size))
}
