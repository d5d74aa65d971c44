import type { Completion } from '../reply.ts'
import { type Block, type Fields, blocksOf, fieldsOf, listOf, media, named } from './blocks.ts'
import type { Protocol } from './protocol.ts'

const STOPS: Readonly<Record<string, string>> = { stop: 'end_turn', tool_calls: 'tool_use', length: 'max_tokens', content_filter: 'refusal' }
const ERRORS: Readonly<Record<number, string>> = { 400: 'invalid_request_error', 401: 'authentication_error', 404: 'not_found_error', 429: 'rate_limit_error', 529: 'overloaded_error' }

/** Anthropic's messages. */
export const anthropic: Protocol = {
  modelIn: (path) => path === '/v1/messages' ? '' : undefined,
  toChat: ({ system, messages, tools, ...body }) => ({
    ...body,
    messages: [...systemOf(system), ...listOf(messages).flatMap(toMessages)],
    ...(Array.isArray(tools) && { tools: listOf(tools).map(({ name, description, input_schema: parameters }) => ({ type: 'function', function: { name, description, parameters } })) }),
  }),
  frames(completion, size) {
    const { id, model } = completion
    const message = { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null, usage: usageOf(completion, 1) }
    const ended = { type: 'message_delta', delta: { stop_reason: STOPS[completion.finish], stop_sequence: null }, usage: usageOf(completion) }
    return {
      head: named('message_start', { type: 'message_start', message }),
      pieces: blocksOf(completion, size).flatMap(framesOf),
      tail: named('message_delta', ended) + named('message_stop', { type: 'message_stop' }),
    }
  },
  whole: (completion) => ({
    id: completion.id, type: 'message', role: 'assistant', model: completion.model, content: blocksOf(completion, 1e9).map(wholeBlock),
    stop_reason: STOPS[completion.finish], stop_sequence: null, usage: usageOf(completion),
  }),
  error: ({ status, message = `The request failed with status ${status}.` }) => ({ type: 'error', error: { type: ERRORS[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error'), message } }),
}

function systemOf(system: unknown): object[] {
  if (typeof system === 'string') return [{ role: 'system', content: system }]
  return Array.isArray(system) ? [{ role: 'system', content: listOf(system).map(({ text }) => String(text)).join('\n') }] : []
}

/** Results are messages of their own in chat completions. */
function toMessages({ role, content }: Fields): object[] {
  if (typeof content === 'string') return [{ role, content }]
  const blocks = listOf(content)
  const results = blocks.filter(({ type }) => type === 'tool_result').map(({ tool_use_id: id, content: given }) => ({ role: 'tool', tool_call_id: id, content: textOf(given) }))
  const parts = blocks.flatMap((block): object[] => {
    if (block.type === 'text') return [{ type: 'text', text: block.text }]
    const { media_type: type, data } = fieldsOf(block.source)
    return block.type === 'image' || block.type === 'document' ? [media(String(type), data)] : []
  })
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }))
  if (role === 'assistant') return [{ role, content: parts.length === 0 ? null : parts, ...(calls.length > 0 && { tool_calls: calls }) }]
  return [...results, ...(parts.length > 0 || results.length === 0 ? [{ role, content: parts }] : [])]
}

function textOf(content: unknown): string {
  return typeof content === 'string' ? content : listOf(content).map(({ text = '' }) => String(text)).join('\n')
}

function framesOf({ type, index, pieces, call }: Block): string[] {
  const begin = type === 'call' ? { type: 'tool_use', id: call!.id, name: call!.name, input: {} } : type === 'text' ? { type, text: '' } : { type: 'thinking', thinking: '', signature: '' }
  const start = named('content_block_start', { type: 'content_block_start', index, content_block: begin })
  const delta = (piece: object): string => named('content_block_delta', { type: 'content_block_delta', index, delta: piece })
  const said = pieces.map((piece) => delta(type === 'call' ? { type: 'input_json_delta', partial_json: piece } : type === 'text' ? { type: 'text_delta', text: piece } : { type: 'thinking_delta', thinking: piece }))
  const signed = type === 'reasoning' ? delta({ type: 'signature_delta', signature: Buffer.from(pieces.join('')).toString('base64') }) : ''
  const stop = `${signed}${named('content_block_stop', { type: 'content_block_stop', index })}`
  if (said.length === 0) return [start + stop]
  return said.map((frame, at) => `${at === 0 ? start : ''}${frame}${at === said.length - 1 ? stop : ''}`)
}

function wholeBlock({ type, pieces, call }: Block): object {
  const text = pieces.join('')
  if (type === 'call') return { type: 'tool_use', id: call!.id, name: call!.name, input: parsed(text) }
  return type === 'text' ? { type, text } : { type: 'thinking', thinking: text, signature: Buffer.from(text).toString('base64') }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return { text }
  }
}

function usageOf({ usage }: Completion, output = usage?.output): object {
  if (!usage) return {}
  const { input, cached, written } = usage
  return {
    input_tokens: Math.max(0, input - cached - written),
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    output_tokens: output,
  }
}
