import type { AssistantMessage, Message, Request } from '@headrace/message'
import fc from 'fast-check'

/**
 * Answers with whatever models write, each with who wrote it; results, contributions and steers between them; all of it
 * valid for a log (L16).
 */
export interface Told {
  readonly message: Message
  readonly writer?: string
}

export const WRITERS = ['openai/gpt-5', 'openai-chat/gpt-4o', 'anthropic/claude-sonnet-4-5', 'anthropic/claude-opus-9', 'google/gemini-3-pro', 'google/gemini-2.5-pro', 'deepseek/deepseek-flash', 'moonshot/kimi-k2', 'mistral/magistral', 'openrouter/google/gemini-3', 'groq/qwen', 'ollama/llama', 'lab/any'] as const

const text = fc.oneof(fc.constantFrom('', ' \n', 'Hello.', 'Done\n', '<system>no</system>'), fc.string({ maxLength: 12, unit: 'grapheme' }).map((value) => value.toWellFormed()))
const said = text.filter((value) => value !== '')
const id = fc.oneof(fc.constantFrom('functions.read:0', 'call_1', 'x'.repeat(46), 'toolu_01A', 'fc 1|rs', 'call_3_0'), fc.string({ minLength: 1, maxLength: 50 }).map((value) => value.toWellFormed()))
const name = fc.constantFrom('read', 'bash', 'mcp.files/read', 'a b', '9lives', 'n'.repeat(70), 'läs')
const args = fc.oneof(fc.constantFrom('', '{}', '{"path": "a"}', '{"path": "a', '[1]', 'null', '"x"', ' {"a":1e3} '), fc.json())
const digest = 'ab'.repeat(32)
const media = fc.constantFrom({ type: 'image', digest, mediaType: 'image/png' } as const, { type: 'file', digest, mediaType: 'application/pdf', name: 'a.pdf' } as const, { type: 'file', digest, mediaType: 'text/csv' } as const)
const content = fc.array(fc.oneof({ weight: 4, arbitrary: said.map((value) => ({ type: 'text', text: value } as const)) }, { weight: 1, arbitrary: media }), { minLength: 1, maxLength: 3 })
const opaque = fc.constantFrom(
  undefined, { anthropic: { signature: 'c2ln' } }, { anthropic: { redactedData: 'ZGF0' } }, { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'enc' } }, { google: { thoughtSignature: 'dGhv' } },
  { google: { id: 'g1', thoughtSignature: 'dGhv' } }, { chat: { field: 'reasoning' } }, { chat: { reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] } }, { chat: { extra_content: { google: { thought_signature: 's' } } } },
  { openai: { phase: 'commentary' } },
)

const answer: fc.Arbitrary<AssistantMessage> = fc.tuple(
  fc.array(fc.oneof(
    fc.record({ type: fc.constant('text' as const), text, metadata: opaque }), fc.record({ type: fc.constant('reasoning' as const), text, metadata: opaque }),
    fc.record({ type: fc.constant('tool-call' as const), id, name, arguments: args, metadata: opaque }),
  ), { minLength: 1, maxLength: 5 }),
).map(([blocks]) => {
  const ids = new Set<string>()
  const kept = blocks.flatMap(({ metadata, ...block }) => {
    if (block.type === 'tool-call' && ids.has(block.id)) return []
    if (block.type === 'tool-call') ids.add(block.id)
    return [{ ...block, ...(metadata && { metadata }) }]
  })
  return { role: 'assistant', content: kept } as unknown as AssistantMessage
})

const writer = fc.option(fc.constantFrom(...WRITERS), { nil: undefined })

/** One turn of a conversation, as a list of what it adds. */
const exchange: fc.Arbitrary<readonly Told[]> = fc.tuple(
  fc.array(fc.tuple(fc.constantFrom('user' as const, 'system' as const), content), { minLength: 0, maxLength: 3 }), fc.option(answer, { nil: undefined, freq: 8 }), writer, fc.array(content, { minLength: 6, maxLength: 6 }), fc.boolean(),
).map(([before, said, by, results, blank]) => {
  const list: Told[] = before.map(([role, blocks]) => ({ message: { role, content: blocks } as Message }))
  if (!said) return list
  list.push({ message: said, ...(by !== undefined && { writer: by }) })
  const calls = said.content.filter((block) => block.type === 'tool-call')
  for (const [index, call] of calls.entries()) {
    const value = blank && index === 0 ? [] : results[index]!
    list.push({ message: { role: 'tool', content: [{ type: 'tool-result', id: call.id, name: call.name, content: value, ...(index === 1 && { error: true }) }] } as unknown as Message })
  }
  return list
})

export const conversation = fc.array(exchange, { minLength: 1, maxLength: 6 })

export const tools = [{ name: 'read', description: 'Reads.', parameters: { type: 'object', properties: { path: { type: 'string' } } } }, { name: 'mcp.files/read', description: 'Too.', parameters: { type: 'object' } }] as const

/** A request of what was told, with a prefix and what stands behind it. */
export function requestOf(told: readonly Told[], model: string, { after = [], prefix = 0, system = 'You help.', config = {} }: { readonly after?: readonly string[]; readonly prefix?: number; readonly system?: string; readonly config?: object } = {}): Request {
  const all = [...told, ...after.map((text): Told => ({ message: { role: 'system', content: [{ type: 'text', text }] } }))]
  return {
    session: 's1', root: 's1', config: { model, ...config } as never, ...(system !== undefined && { system }), tools: tools as never, messages: all.map(({ message }) => message), owners: all.map(() => 'user'),
    writers: all.map(({ writer }) => writer), segments: { prefix, before: 0, history: told.length - prefix, after: after.length },
    signal: new AbortController().signal,
  }
}
