import type { Completion } from '../reply.ts'
import { type Block, type Fields, blocksOf, fieldsOf, listOf, media } from './blocks.ts'
import type { Protocol } from './protocol.ts'

const STOPS: Readonly<Record<string, string>> = { stop: 'STOP', tool_calls: 'STOP', length: 'MAX_TOKENS', content_filter: 'SAFETY' }
const STATUS: Readonly<Record<number, string>> = { 400: 'INVALID_ARGUMENT', 401: 'UNAUTHENTICATED', 403: 'PERMISSION_DENIED', 404: 'NOT_FOUND', 429: 'RESOURCE_EXHAUSTED', 500: 'INTERNAL', 503: 'UNAVAILABLE' }

/** Gemini's `generateContent`. */
export const google: Protocol = {
  modelIn: (path) => /^\/v1(?:beta)?\/models\/([^/:]+):(?:streamG|g)enerateContent$/.exec(path)?.[1],
  toChat: ({ systemInstruction: system, contents, tools }, model) => {
    const declared = listOf(tools).flatMap(({ functionDeclarations: list }) => listOf(list))
    return {
      model, stream: true,
      messages: [...(system === undefined ? [] : [{ role: 'system', content: textOf(system) }]), ...toMessages(listOf(contents))],
      ...(declared.length > 0 && { tools: declared.map(({ name, description, parametersJsonSchema: parameters }) => ({ type: 'function', function: { name, description, parameters } })) }),
    }
  },
  frames(completion, size) {
    const frame = (parts: object[], more: object = {}): string => `data: ${JSON.stringify(contentOf(completion, parts, more))}\n\n`
    const pieces = blocksOf(completion, size).flatMap((block) => block.type === 'call' ? [frame([wholePart(block)])] : block.pieces.map((text) => frame([partOf(block, text)])))
    return { head: '', pieces, tail: frame([{ text: '' }], { finishReason: STOPS[completion.finish] }) }
  },
  whole: (completion) => contentOf(completion, blocksOf(completion, 1e9).map(wholePart), { finishReason: STOPS[completion.finish] }),
  error: ({ status, message = `The request failed with status ${status}.`, retryAfter }) => ({
    error: {
      code: status, message, status: STATUS[status] ?? 'UNKNOWN',
      ...(typeof retryAfter === 'number' && { details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfter / 1000}s` }] }),
    },
  }),
}

function textOf(value: unknown): string {
  return listOf(fieldsOf(value).parts).map(({ text = '' }) => String(text)).join('\n')
}

/** Gemini's calls have no ids: a response answers the call at its place. */
function toMessages(contents: readonly Fields[]): object[] {
  let calls = 0
  let answered = 0
  return contents.flatMap(({ role, parts }): object[] => {
    const list = listOf(parts)
    const said = list.flatMap((part): object[] => {
      const { mimeType, data } = fieldsOf(part.inlineData)
      if (typeof mimeType === 'string') return [media(mimeType, data)]
      return typeof part.text === 'string' && part.text !== '' && part.thought !== true ? [{ type: 'text', text: part.text }] : []
    })
    if (role === 'model') {
      const asked = list.flatMap(({ functionCall: call }): object[] => {
        if (call === undefined) return []
        const { name, args } = fieldsOf(call)
        return [{ id: `call_${calls++}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }]
      })
      return [{ role: 'assistant', content: said.length === 0 ? null : said, ...(asked.length > 0 && { tool_calls: asked }) }]
    }
    const results = list.flatMap(({ functionResponse: response }): object[] => {
      if (response === undefined) return []
      const { output, error } = fieldsOf(fieldsOf(response).response)
      const answer = output ?? error
      return [{ role: 'tool', tool_call_id: `call_${answered++}`, content: typeof answer === 'string' ? answer : JSON.stringify(answer) ?? '' }]
    })
    return [...results, ...(said.length > 0 || results.length === 0 ? [{ role: 'user', content: said }] : [])]
  })
}

function contentOf({ id, model, usage }: Completion, parts: object[], more: object): object {
  const bill = usage && {
    promptTokenCount: usage.input, cachedContentTokenCount: usage.cached,
    candidatesTokenCount: Math.max(0, usage.output - usage.reasoning), thoughtsTokenCount: usage.reasoning,
  }
  return { candidates: [{ content: { role: 'model', parts }, index: 0, ...more }], ...(bill && { usageMetadata: bill }), modelVersion: model, responseId: id }
}

function partOf({ type }: Block, text: string): object {
  return type === 'reasoning' ? { text, thought: true } : { text }
}

function wholePart(block: Block): object {
  const text = block.pieces.join('')
  if (block.type !== 'call') return partOf(block, text)
  const { id, name } = block.call!
  return { functionCall: { name, args: parsed(text) }, thoughtSignature: Buffer.from(id).toString('base64') }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return { text }
  }
}
