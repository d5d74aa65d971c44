import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ChatCompletionRequest, LLMock } from '@copilotkit/aimock'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Lab } from '../../packages/headrace/tests/command.ts'

/** The four protocols on a server that others wrote, driven through `headrace run`. */
const MODELS = { 'openai-responses': 'responses/gpt-5', 'openai-chat': 'chat/gpt-4o', anthropic: 'claude/claude-sonnet-4-5', google: 'gemini/gemini-2.5-pro' } as const
type Protocol = keyof typeof MODELS

let mock: LLMock
let lab: Lab

beforeAll(async () => {
  mock = new LLMock({ port: 0, logLevel: 'silent' })
  situations()
  await mock.start()
})
afterAll(() => mock.stop())
beforeEach(() => { lab = new Lab() })
afterEach(() => lab.close())

const says = (word: string) => (request: ChatCompletionRequest): boolean => JSON.stringify(request.messages).includes(word)
const hasResult = ({ messages }: ChatCompletionRequest): boolean => messages.some(({ role }) => role === 'tool')
const read = (path: string): { name: string; arguments: string } => ({ name: 'read', arguments: JSON.stringify({ path }) })

function situations(): void {
  const on = (word: string, response: Parameters<LLMock['on']>[1], more: Parameters<LLMock['on']>[2] = {}): unknown => mock.on({ predicate: says(word) }, response, more)
  const tried = new Set<string>()
  /** The first time that a protocol asks so. */
  const first = (word: string, { model }: ChatCompletionRequest): boolean => !tried.has(`${word} ${model}`) && Boolean(tried.add(`${word} ${model}`))
  on('say hello', { content: 'Hello from elsewhere.' })
  on('think first', { reasoning: 'It is a greeting.', content: 'Hello.' })
  mock.on({ predicate: (request) => says('read one')(request) && hasResult(request) }, { content: 'It says alpha.' })
  on('read one', { toolCalls: [read('a.txt')] })
  mock.on({ predicate: (request) => says('read both')(request) && hasResult(request) }, { content: 'Both are there.' })
  on('read both', { toolCalls: [read('a.txt'), read('b.txt')] })
  on('be long', { content: 'And then', finishReason: 'length' })
  on('be bad', { content: 'No.', finishReason: 'content_filter' })
  on('be quick', (request) => first('quick', request) ? { error: { message: 'Slow down.', type: 'rate_limit_error' }, status: 429, retryAfter: 1 } : { content: 'Now.' })
  on('be known', { error: { message: 'Incorrect API key provided.', type: 'authentication_error', code: 'invalid_api_key' }, status: 401 })
  on('be short', { error: { message: 'This model\'s maximum context length is 4096 tokens. Your messages resulted in 9000.', type: 'invalid_request_error', code: 'context_length_exceeded' }, status: 400 })
  mock.on({ predicate: (request) => says('be cut')(request) && first('cut', request) }, { content: 'This is only the first half of what was to be said' }, { truncateAfterChunks: 3, chunkSize: 5 })
  on('be cut', { content: 'The whole.' })
}

async function run(protocol: Protocol, prompt: string): Promise<Awaited<ReturnType<Lab['run']>>> {
  const url = mock.url
  const providers = {
    responses: { baseURL: `${url}/v1`, protocol: 'openai-responses' }, chat: { baseURL: `${url}/v1` }, claude: { baseURL: `${url}/v1`, protocol: 'anthropic' }, gemini: { baseURL: `${url}/v1beta`, protocol: 'google' },
  }
  const keyed = Object.fromEntries(Object.entries(providers).map(([name, provider]) => [name, { ...provider, apiKey: 'none-of-yours' }]))
  const file = join(lab.root, 'app.yml')
  writeFileSync(file, JSON.stringify([{ name: 'headrace', config: { providers: keyed, retry: { base: 1 } } }]))
  return lab.run(['run', prompt, '--app', file, '--model', MODELS[protocol]])
}

describe.each(Object.keys(MODELS) as Protocol[])('%s', (protocol) => {
  it.each<[prompt: string, ended: object]>([
    ['say hello', { code: 0, out: 'Hello from elsewhere.\n' }],
    ['think first', { code: 0, out: 'Hello.\n' }],
    ['read one', { code: 0, out: 'It says alpha.\n', err: expect.stringContaining('← read: 1 alpha') }],
    ['read both', { code: 0, out: 'Both are there.\n' }],
    ['be long', { code: 3, out: 'And then\n', err: expect.stringContaining('output limit') }],
    // Of Responses this server does not say why an answer is incomplete.
    ['be bad', { code: 3, err: expect.stringMatching(protocol === 'openai-responses' ? /does not explain/ : /refused to answer/) }],
    ['be quick', { code: 0, out: 'Now.\n', err: expect.stringContaining('goes out again') }],
    ['be known', { code: 1, out: '', err: expect.stringMatching(/answered 401/) }],
    ['be short', { code: 1, out: '', err: expect.stringMatching(/maximum context length is 4096/) }],
    ['be cut', { code: 0, out: 'The whole.\n', err: expect.stringContaining('goes out again') }],
  ])('%s', async (prompt, ended) => {
    expect(await run(protocol, prompt)).toMatchObject(ended)
  })
})
