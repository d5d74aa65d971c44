import type { ChatBody, ChatMessage, ModelServer } from '@headrace/model-server'

/** A client that knows no more of the protocol than its lines. */

export interface Chunk {
  readonly id: string
  readonly error?: { readonly message: string; readonly code: string | null }
  readonly choices: readonly { readonly delta: Delta; readonly finish_reason: string | null }[]
  readonly usage?: Record<string, unknown> | null
}

interface Delta {
  readonly role?: string
  readonly content?: string
  readonly reasoning_content?: string
  readonly tool_calls?: readonly {
    readonly index: number
    readonly id?: string
    readonly function: { readonly name?: string; readonly arguments: string }
  }[]
}

export const HELLO: readonly ChatMessage[] = [{ role: 'user', content: 'Hello' }]

export function post(server: ModelServer, body: Partial<ChatBody> | string, init: RequestInit = {}, path = '/chat/completions'): Promise<Response> {
  return fetch(server.url + path, {
    method: 'POST',
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
    body: typeof body === 'string' ? body : JSON.stringify({ model: 'm', messages: HELLO, ...body }),
  })
}

export function stream(server: ModelServer, body: Partial<ChatBody> = {}, init?: RequestInit): Promise<Response> {
  return post(server, { stream: true, ...body }, init)
}

/** The data of each event; `[DONE]` as it is. */
export async function lines(response: Response): Promise<string[]> {
  const events = (await response.text()).split('\n\n')
  if (events.pop() !== '') throw new Error('the stream ends inside an event')
  return events.map((event) => {
    if (!event.startsWith('data: ')) throw new Error(`not an event: ${event}`)
    return event.slice(6)
  })
}

export async function chunks(response: Response): Promise<Chunk[]> {
  const all = await lines(response)
  if (all.pop() !== '[DONE]') throw new Error('the stream ends without [DONE]')
  return all.map((line) => JSON.parse(line) as Chunk)
}

export function join(all: readonly Chunk[], field: 'content' | 'reasoning_content'): string {
  return all.map((chunk) => chunk.choices[0]?.delta[field] ?? '').join('')
}

export function calls(all: readonly Chunk[]): { id: string; name: string; arguments: string; pieces: number }[] {
  const result: { id: string; name: string; arguments: string; pieces: number }[] = []
  for (const piece of all.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])) {
    const call = result[piece.index] ??= { id: piece.id ?? '', name: piece.function.name ?? '', arguments: '', pieces: 0 }
    call.arguments += piece.function.arguments
    call.pieces++
  }
  return result
}

/** Reads a body until something has come, and returns the text so far. */
export async function first(response: Response): Promise<string> {
  const { value } = await response.body!.getReader().read()
  return new TextDecoder().decode(value)
}

export interface ErrorBody {
  readonly error: { readonly message: string; readonly type: string; readonly code: string | null; readonly param: string | null }
}

export async function errorOf(response: Response): Promise<ErrorBody['error']> {
  return (await response.json() as ErrorBody).error
}
