import { type ChatBody, type ChatMessage, createModelServer, lastUser, said, steps, toolResults, turnOf, turns } from '@headrace/model-server'
import { describe, expect, it } from 'vitest'
import { calls, chunks, errorOf, join, post, stream } from './client.ts'

const user = (content: string): ChatMessage => ({ role: 'user', content })
const answer = (content: string): ChatMessage => ({ role: 'assistant', content })
const asks = (...ids: string[]): ChatMessage =>
  ({ role: 'assistant', content: null, tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: `do-${id}`, arguments: `"${id}"` } })) })
const result = (id: string): ChatMessage => ({ role: 'tool', tool_call_id: id, content: [{ type: 'text', text: `${id} is ` }, { type: 'text', text: 'done' }] })
const body = (...messages: ChatMessage[]): ChatBody => ({ model: 'm', messages })

describe('turnOf', () => {
  it('counts the answers of the turn', () => {
    expect(turnOf(body(user('one')))).toMatchObject({ number: 1, step: 0 })
    expect(turnOf(body(user('one'), asks('a'), result('a')))).toMatchObject({ number: 1, step: 1 })
    expect(turnOf(body(user('one'), asks('a'), result('a'), answer('done'), user('two')))).toMatchObject({ number: 2, step: 0, messages: [user('two')] })
  })

  it('is not misled by what plugins add: a prefix, reminders between results, a message behind everything', () => {
    const turn = turnOf(body(user('skills'), user('one'), asks('a'), result('a'), user('reminder'), asks('b'), result('b'), user('the time')))
    expect(turn).toMatchObject({ number: 1, step: 2 })
    expect(turnOf(body(user('skills'), user('one'), answer('done'), user('day'), user('two'), user('the time')))).toMatchObject({ number: 2, step: 0 })
  })

  it('takes the prompts for turns that match, where that is told', () => {
    const conversation = body(user('do one'), asks('a'), result('a'), user('do two'), user('the time'))
    expect(turnOf(conversation)).toMatchObject({ number: 1, step: 1 })
    expect(turnOf(conversation, { prompt: /^do/g })).toMatchObject({ number: 2, step: 0 })
    expect(turnOf(conversation, { prompt: /never/ })).toMatchObject({ number: 1, step: 1 })
  })
})

it('toolResults gives the results of the turn with the calls they answer', () => {
  const conversation = body(user('one'), asks('a'), result('a'), answer('done'), user('two'), asks('b', 'c'), result('b'), result('c'), user('the time'))
  expect(toolResults(conversation)).toEqual([
    { id: 'b', name: 'do-b', arguments: '"b"', text: 'b is done' },
    { id: 'c', name: 'do-c', arguments: '"c"', text: 'c is done' },
  ])
})

it('two prompts that became one message are two: what is said last is the last part', () => {
  const part = (text: string): { type: string; text: string } => ({ type: 'text', text })
  const merged = body({ role: 'user', content: [part('read a.js'), part('<system>\nIt is Friday.\n</system>'), part('read b.js'), { type: 'image_url' }] })
  expect(lastUser(merged)).toBe('read b.js')
  expect(said(merged, /read (\S+)/)?.[1]).toBe('b.js')
  expect(said(merged, /read a\S+/)?.[0]).toBe('read a.js')
  expect(said(merged, /Friday/, 'system')?.[0]).toBe('Friday')
  expect(said(merged, /Friday/)).toBeUndefined()
  expect(lastUser(body({ role: 'user', content: [{ type: 'image_url' }] }))).toBe('')
})

it('said finds the latest match of a role; lastUser is the last user message', () => {
  const conversation = body(user('read a.js'), answer('read z.js'), user('read b.js'), answer('ok'), user('thanks'))
  expect(said(conversation, /read (\S+)/)?.[1]).toBe('b.js')
  expect(said(conversation, /read (\S+)/, 'assistant')?.[1]).toBe('z.js')
  expect(said(conversation, /write/)).toBeUndefined()
  expect(lastUser(conversation)).toBe('thanks')
  expect(lastUser(body(answer('alone')))).toBe('')
})

it('steps and turns lead a conversation over HTTP, and say so when they run out', async () => {
  const server = await createModelServer(turns([
    steps([{ toolCalls: [{ name: 'read', arguments: { path: 'a.js' } }] }, (now) => `It says: ${toolResults(now)[0]?.text}`]),
    'Goodbye.',
  ]))
  const messages: ChatMessage[] = [user('What does a.js say?')]
  const first = await chunks(await stream(server, { messages }))
  const [call] = calls(first)
  messages.push({ role: 'assistant', content: null, tool_calls: [{ id: call!.id, type: 'function', function: { name: call!.name, arguments: call!.arguments } }] })
  messages.push({ role: 'tool', tool_call_id: call!.id, content: 'hello' }, user('The time is 12:00.'))
  // Asked again, as by a client that was killed and came back, it says the same.
  for (let time = 0; time < 2; time++) expect(join(await chunks(await stream(server, { messages })), 'content')).toBe('It says: hello')
  messages.push(answer('It says: hello'), user('Bye'))
  expect(join(await chunks(await stream(server, { messages })), 'content')).toBe('Goodbye.')
  messages.push(answer('Goodbye.'), user('Still there?'))
  const response = await post(server, { messages })
  expect(response.status).toBe(500)
  expect((await errorOf(response)).message).toBe('the script has 2 turns and is asked for turn 3; give it one more')
  await server.close()
})
