import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, type UIMessage, type UIMessageChunk, lastAssistantMessageIsCompleteWithApprovalResponses, readUIMessageStream } from 'ai'
import type { Context } from 'cordis'
import { until } from '@headrace/testing/gate'
import { describe, expect, it } from 'vitest'
import { TOKEN, type App, app } from './kit.ts'

const headers = { authorization: `Bearer ${TOKEN}` }

/** A chat of the AI SDK, as a page has it. */
function chatOf({ handler }: App, id: string, messages: UIMessage[] = []): Chat<UIMessage> {
  return new Chat<UIMessage>({
    id, messages,
    transport: new DefaultChatTransport({ api: 'http://127.0.0.1/chat', headers, fetch: (input, init) => handler(new Request(input as string, init)) }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
}

const tools = (ran: string[], ask: boolean) => (ctx: Context): void => void ctx.tools.define({
  name: 'bash', description: 'runs', parameters: { type: 'object', properties: { command: { type: 'string' } } }, ...(ask && { ask: () => 'Run it?' }),
  execute: ({ command }: { command: string }) => {
    ran.push(command)
    return `ran ${command}`
  },
} as never)

/** Messages without what only a client writes into them. */
const plain = (messages: readonly UIMessage[]): unknown => JSON.parse(JSON.stringify(messages, (key, value: unknown) => {
  if (key === 'approval') return { id: (value as { id: string }).id }
  return key === 'preliminary' || key === 'metadata' && value === null ? undefined : value
}))

const loaded = async ({ json }: App, id: string): Promise<UIMessage[]> => (await json<UIMessage[]>('GET', `/chat/${id}/messages`)).body
/** One part, by its type. */
function partOf(message: UIMessage | undefined, type: string): Record<string, unknown> {
  return message?.parts.find((part) => part.type === type) as never
}

describe('a chat', () => {
  it('has what the model thinks, says and does; and what it loads later is the same', async () => {
    const ran: string[] = []
    const calls = [{ name: 'bash', arguments: { command: 'ls' } }, { name: 'bash', arguments: { command: 'pwd' } }]
    const one = await app({ script: [{ reasoning: 'Let me look.', text: 'Looking.', calls, pieces: 2 }, { text: 'All is well.', pieces: 3, usage: { input: 10, output: 5 } }], setup: tools(ran, false) })
    const chat = chatOf(one, 'a-chat')
    await chat.sendMessage({ text: 'How is it?' })
    expect(chat.status).toBe('ready')
    expect(chat.messages).toHaveLength(2)
    expect(chat.messages[1]!.parts.map(({ type }) => type)).toEqual(['step-start', 'reasoning', 'text', 'dynamic-tool', 'dynamic-tool', 'step-start', 'text'])
    expect(partOf(chat.messages[1], 'dynamic-tool')).toMatchObject({ toolName: 'bash', state: 'output-available', input: { command: 'ls' }, output: 'ran ls' })
    expect(chat.messages[1]!.metadata).toMatchObject({ headrace: { session: 'a-chat', turn: 1, usage: { input: 10, output: 5 } } })
    expect(plain(await loaded(one, 'a-chat'))).toEqual(plain(chat.messages))
    await chat.sendMessage({ text: 'And now?' })
    expect(plain(await loaded(one, 'a-chat'))).toEqual(plain(chat.messages))
    expect(ran).toEqual(['ls', 'pwd'])
  })

  it('is told by readUIMessageStream too, chunk by chunk, in types that version 6 knows', async () => {
    const { call } = await app({ script: [{ text: 'Hello there.', pieces: 4 }] })
    const response = await call('POST', '/chat', { id: 'x', trigger: 'submit-message', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] })
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    const text = await response.text()
    const chunks = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json!) as UIMessageChunk)
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
    // Pieces that wait for their reader are joined.
    const types = chunks.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1])
    expect(types).toEqual(['start', 'start-step', 'text-start', 'text-delta', 'message-metadata', 'text-end', 'finish-step', 'finish'])
    const stream = new ReadableStream<UIMessageChunk>({ start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    } })
    const states: UIMessage[] = []
    for await (const message of readUIMessageStream({ stream })) states.push(message)
    expect(states.at(-1)).toMatchObject({ id: 'x.t1', parts: [{ type: 'step-start' }, { type: 'text', text: 'Hello there.', state: 'done' }] })
  })

  it('asks before it acts: the stream ends with the question, the answer goes on with the same message, each call runs once', async () => {
    const ran: string[] = []
    const calls = [{ name: 'bash', arguments: { command: 'one' } }, { name: 'bash', arguments: { command: 'two' } }, { name: 'bash', arguments: { command: 'three' } }]
    const one = await app({ script: [{ text: 'May I?', calls }, 'Done.'], setup: tools(ran, true) })
    const chat = chatOf(one, 'a-chat')
    await chat.sendMessage({ text: 'Go.' })
    for (const [index, approved] of [true, false, true].entries()) {
      await until(() => chat.status === 'ready' && chat.messages[1]?.parts.some((part) => part.type === 'dynamic-tool' && part.state === 'approval-requested'))
      expect(ran).toEqual([])
      const asked = chat.messages[1]!.parts.findLast((part) => part.type === 'dynamic-tool') as never as { approval: { id: string }; input: unknown; state: string }
      expect(asked).toMatchObject({ state: 'approval-requested', input: { command: ['one', 'two', 'three'][index] } })
      const question = chat.messages[1]!.parts.findLast((part) => part.type === 'data-headrace-question') as never as { data: { shown: string[] } }
      expect(question.data.shown.join('\n')).toContain(`command: ${['one', 'two', 'three'][index]!}`)
      await chat.addToolApprovalResponse({ id: asked.approval.id, approved, ...(!approved && { reason: 'not that' }) })
    }
    await until(() => chat.status === 'ready' && partOf(chat.messages[1], 'text') && chat.messages[1]!.parts.at(-1)?.type === 'text')
    expect(chat.messages).toHaveLength(2)
    expect(chat.messages[1]!.parts.filter(({ type }) => type === 'dynamic-tool')).toMatchObject([
      { state: 'output-available', output: 'ran one' }, { state: 'output-denied' }, { state: 'output-available', output: 'ran three' },
    ])
    expect(ran).toEqual(['one', 'three'])
    expect((await one.events('a-chat')).filter(({ type }) => type === 'question/answered')).toHaveLength(3)
    expect(plain(await loaded(one, 'a-chat'))).toEqual(plain(chat.messages))
  })

  it('finds the question again: a page that loads anew is asked the same, and its answer counts', async () => {
    const ran: string[] = []
    const one = await app({ script: [{ text: 'May I?', calls: [{ name: 'bash', arguments: { command: 'ls' } }] }, 'Done.'], setup: tools(ran, true) })
    const before = chatOf(one, 'a-chat')
    await before.sendMessage({ text: 'Go.' })
    const chat = chatOf(one, 'a-chat', await loaded(one, 'a-chat'))
    expect(plain(chat.messages)).toEqual(plain(before.messages))
    await chat.resumeStream()
    expect(plain(chat.messages)).toEqual(plain(before.messages))
    const { approval } = partOf(chat.messages[1], 'dynamic-tool') as { approval: { id: string } }
    await chat.addToolApprovalResponse({ id: approval.id, approved: true })
    await until(() => chat.status === 'ready' && chat.messages[1]!.parts.at(-1)?.type === 'text')
    expect(ran).toEqual(['ls'])
    // The page that had asked before is late, with another answer and with the same.
    await before.addToolApprovalResponse({ id: approval.id, approved: false })
    await until(() => before.status === 'error')
    expect(before.error!.message).toContain('QUESTION_CLOSED')
    expect(ran).toEqual(['ls'])
  })

  it.each(['other/3', '../x/3', 'a-chat/0', 'a-chat/4000', 'a-chat', ''])('is not answered by an approval of %s', async (approvalId) => {
    const ran: string[] = []
    const one = await app({ script: [{ calls: [{ name: 'bash', arguments: { command: 'ls' } }] }], setup: tools(ran, true) })
    await chatOf(one, 'a-chat').sendMessage({ text: 'Go.' })
    const part = { type: 'dynamic-tool', toolName: 'bash', toolCallId: 'x', state: 'approval-responded', input: {}, approval: { id: approvalId, approved: true } }
    const { status } = await one.json('POST', '/chat', { id: 'a-chat', trigger: 'submit-message', messages: [{ id: 'm', role: 'assistant', parts: [part] }] })
    expect([400, 409]).toContain(status)
    expect(ran).toEqual([])
  })

  it('answers anew: the history is what it was before, the other answer is gone', async () => {
    const one = await app({ script: ['First.', 'Second.', 'Third.'] })
    const chat = chatOf(one, 'a-chat')
    await chat.sendMessage({ text: 'Say it.' })
    const [, { id: first }] = chat.messages as [UIMessage, UIMessage]
    await chat.regenerate()
    expect(chat.messages.map((message) => partOf(message, 'text').text)).toEqual(['Say it.', 'Second.'])
    expect(plain(await loaded(one, 'a-chat'))).toEqual(plain(chat.messages))
    // Sent again, because its answer was lost on the way: it is told, and nothing runs.
    const body = { id: 'a-chat', trigger: 'regenerate-message', messageId: first, messages: [chat.messages[0]] }
    expect(await (await one.call('POST', '/chat', body)).text()).toContain('Second.')
    expect(one.requests).toHaveLength(2)
    expect((one.requests[1] as { messages: unknown[] }).messages).toHaveLength(1)
    await chat.sendMessage({ text: 'Say another.', messageId: chat.messages[0]!.id })
    expect(chat.messages.map((message) => partOf(message, 'text').text)).toEqual(['Say another.', 'Third.'])
    expect(plain(await loaded(one, 'a-chat'))).toEqual(plain(chat.messages))
    expect((one.requests[2] as { messages: unknown[] }).messages).toHaveLength(1)
  })

  it('is stopped from another tab; closing the first one stops nothing', async () => {
    const one = await app({ script: [{ text: 'thinking', hang: true }, 'again'] })
    const chat = chatOf(one, 'a-chat')
    const running = chat.sendMessage({ text: 'Go.' })
    await until(() => partOf(chat.messages[1], 'text')?.text === 'thinking')
    await chat.stop()
    await running
    expect((await one.json('GET', '/sessions/a-chat')).body).toMatchObject({ state: 'running' })
    const other = chatOf(one, 'a-chat', await loaded(one, 'a-chat'))
    const resumed = other.resumeStream()
    await until(() => partOf(other.messages[1], 'text')?.text === 'thinking')
    expect((await one.call('POST', '/chat/a-chat/stop')).status).toBe(204)
    await resumed
    expect((await one.call('GET', '/chat/a-chat/stream')).status).toBe(204)
    expect((await one.events('a-chat')).findLast(({ type }) => type === 'turn/end')).toMatchObject({ data: { reason: 'cancelled' } })
    expect(other.status).toBe('ready')
  })

  it('says what it showed and does not keep: an attempt that failed', async () => {
    const one = await app({ script: [{ text: 'half of', error: { kind: 'server', message: 'down' } }, 'whole'] })
    one.ctx.on('agent/request-error', async () => 'retry')
    const chat = chatOf(one, 'a-chat')
    await chat.sendMessage({ text: 'Go.' })
    const { parts } = chat.messages[1]!
    expect(parts.map(({ type }) => type)).toEqual(['step-start', 'text', 'data-headrace-discarded', 'step-start', 'text'])
    expect(partOf((await loaded(one, 'a-chat'))[1], 'text')).toMatchObject({ text: 'whole' })
  })

  it('is sent again as often as one likes: it is the same turn, and counts once', async () => {
    const one = await app({ script: [{ text: 'thinking', hang: true }], options: { turnsPerUser: 1 } })
    const body = { id: 'a-chat', trigger: 'submit-message', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }] }
    for (const _ of [1, 2, 3]) {
      const response = await one.call('POST', '/chat', body)
      expect(response.status).toBe(200)
      await response.body!.cancel()
    }
    expect((await one.json('POST', '/chat', { ...body, id: 'another' })).status).toBe(429)
    expect((await one.events('a-chat')).filter(({ type }) => type === 'prompt/queued')).toHaveLength(1)
  })

  it('tells what failed', async () => {
    const one = await app({ script: [{ error: { kind: 'auth', message: 'no such key' } }] })
    const chat = chatOf(one, 'a-chat')
    await chat.sendMessage({ text: 'Go.' })
    expect([chat.status, chat.error?.message]).toEqual(['error', expect.stringContaining('no such key')])
  })

  it('takes files with their bytes, and no address to fetch', async () => {
    const one = await app()
    const chat = chatOf(one, 'a-chat')
    const url = `data:image/png;base64,${Buffer.from('png').toString('base64')}`
    await chat.sendMessage({ files: [{ type: 'file', mediaType: 'image/png', url }], text: 'What is it?' })
    const [request] = one.requests as [{ messages: { content: { type: string }[] }[] }]
    expect(request.messages[0]!.content.map(({ type }) => type)).toEqual(['image', 'text'])
    for (const bad of ['http://169.254.169.254/', 'file:///etc/passwd', 'data:text/html,<script>']) {
      const messages = [{ id: `m-${bad.length}`, role: 'user', parts: [{ type: 'file', mediaType: 'image/png', url: bad }] }]
      expect((await one.json('POST', '/chat', { id: 'a-chat', trigger: 'submit-message', messages })).status).toBe(400)
    }
  })
})
