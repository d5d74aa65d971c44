import type { Completion } from '../reply.ts'
import { errorBody } from '../error.ts'
import { type Block, type Fields, blocksOf, listOf, named } from './blocks.ts'
import type { Protocol } from './protocol.ts'

/** OpenAI's Responses. */
export const responses: Protocol = {
  modelIn: (path) => path === '/v1/responses' ? '' : undefined,
  toChat: ({ instructions, input, tools, ...body }) => ({
    ...body,
    messages: [...(typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : []), ...toMessages(listOf(input))],
    ...(Array.isArray(tools) && { tools: listOf(tools).map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } })) }),
  }),
  frames(completion, size) {
    const response = (more: object = {}): object => ({ id: completion.id, object: 'response', model: completion.model, status: 'in_progress', output: [], ...more })
    const blocks = blocksOf(completion, size)
    const isCut = completion.finish === 'length' || completion.finish === 'content_filter'
    const type = isCut ? 'response.incomplete' : 'response.completed'
    const reason = completion.finish === 'length' ? 'max_output_tokens' : 'content_filter'
    const end = response({ status: isCut ? 'incomplete' : 'completed', output: blocks.map(itemOf), usage: usageOf(completion), ...(isCut && { incomplete_details: { reason } }) })
    return {
      head: named('response.created', { type: 'response.created', response: response() }),
      pieces: blocks.flatMap(framesOf),
      tail: named(type, { type, response: end }),
    }
  },
  whole: (completion) => ({
    id: completion.id, object: 'response', model: completion.model, status: 'completed', output: blocksOf(completion, 1e9).map(itemOf), usage: usageOf(completion),
  }),
  error: (failure) => ({ type: 'error', ...errorBody(failure) }),
}

/** Items of one answer are one message in chat completions. */
function toMessages(items: readonly Fields[]): object[] {
  const messages: { role: unknown; content?: unknown; tool_call_id?: unknown; tool_calls?: object[] }[] = []
  for (const { type, role, content, call_id: id, name, arguments: text, output } of items) {
    if (type === 'reasoning') continue
    const last = messages.at(-1)
    if (type === 'function_call') {
      const call = { id, type: 'function', function: { name, arguments: text } }
      if (last?.role === 'assistant') last.tool_calls = [...(last.tool_calls ?? []), call]
      else messages.push({ role: 'assistant', content: null, tool_calls: [call] })
    } else if (type === 'function_call_output') messages.push({ role: 'tool', tool_call_id: id, content: typeof output === 'string' ? output : textsOf(output) })
    else messages.push({ role, content: typeof content === 'string' ? content : listOf(content).map(partOf) })
  }
  return messages
}

function textsOf(parts: unknown): string {
  return listOf(parts).map(({ text = '' }) => String(text)).join('\n')
}

function partOf({ type, text, image_url: url, file_data: data }: Fields): object {
  if (type === 'input_image' || type === 'input_file') return { type: 'image_url', image_url: { url: url ?? data } }
  return { type: 'text', text }
}

function itemOf({ type, index, pieces, call }: Block): object {
  const text = pieces.join('')
  if (type === 'call') return { id: `fc_${index}`, type: 'function_call', status: 'completed', call_id: call!.id, name: call!.name, arguments: text }
  if (type === 'text') return { id: `msg_${index}`, type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] }
  return { id: `rs_${index}`, type: 'reasoning', summary: [{ type: 'summary_text', text }], encrypted_content: Buffer.from(text).toString('base64') }
}

const DELTA = { call: 'response.function_call_arguments.delta', text: 'response.output_text.delta', reasoning: 'response.reasoning_summary_text.delta' } as const

function framesOf(block: Block): string[] {
  const { type, index, pieces } = block
  const item = itemOf(block)
  const empty = itemOf({ ...block, pieces: [] })
  const start = named('response.output_item.added', { type: 'response.output_item.added', output_index: index, item: empty })
  const stop = named('response.output_item.done', { type: 'response.output_item.done', output_index: index, item })
  const said = pieces.map((delta) =>
    named(DELTA[type], { type: DELTA[type], output_index: index, item_id: (item as { id: string }).id, delta }),
  )
  if (said.length === 0) return [start + stop]
  return said.map((frame, at) => `${at === 0 ? start : ''}${frame}${at === said.length - 1 ? stop : ''}`)
}

function usageOf({ usage }: Completion): object | undefined {
  if (!usage) return undefined
  const { input, cached, output, reasoning } = usage
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  }
}
