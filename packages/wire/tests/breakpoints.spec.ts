import { type Traits, familyOf } from '@headrace/wire'
import { expect, it } from 'vitest'
import { type Told, requestOf } from './histories.ts'

const traits: Traits = { family: 'anthropic' }
const user = (text: string): Told => ({ message: { role: 'user', content: [{ type: 'text', text }] } })
const calls = (...ids: string[]): Told => ({ message: { role: 'assistant', content: ids.map((id) => ({ type: 'tool-call', id, name: 'read', arguments: '{}' })) } })
const result = (id: string): Told => ({ message: { role: 'tool', content: [{ type: 'tool-result', id, name: 'read', content: [{ type: 'text', text: id }] }] } })

/** The texts, ids and names of what is marked, in order. */
function marked(told: readonly Told[], rest: Parameters<typeof requestOf>[2] = {}): unknown[] {
  const request = requestOf(told, 'anthropic/claude-sonnet-5', rest)
  const { body } = familyOf(traits).body({ request, target: { provider: 'anthropic', model: 'claude-sonnet-5' }, blobs: new Map() }, traits)
  const { system = [], tools, messages } = body as unknown as { system?: Block[]; tools: Block[]; messages: { content: Block[] }[] }
  const blocks = [...system, ...tools, ...messages.flatMap(({ content }) => content)]
  return blocks.filter((block) => block.cache_control).map(({ text, tool_use_id: id, name }) => text ?? id ?? name)
}

interface Block {
  readonly text?: string
  readonly tool_use_id?: string
  readonly name?: string
  readonly cache_control?: object
}

it('stand behind system, prefix and history, and where the request before this one ended; never on what comes after (W8)', () => {
  expect(marked([user('opener'), user('go')], { prefix: 1, after: ['Now.'] })).toEqual(['You help.', 'opener', 'go'])
  const history = [user('opener'), user('go'), calls('a', 'b'), result('a'), result('b')]
  expect(marked(history, { prefix: 1, after: ['Now.'] })).toEqual(['You help.', 'opener', 'go', 'b'])
})

it('of a long batch reach back to the request before, however many results stand between', () => {
  const ids = Array.from({ length: 30 }, (_, index) => `c${index}`)
  expect(marked([user('go'), calls(...ids), ...ids.map(result)])).toEqual(['You help.', 'go', 'c29'])
})

it('stand on the last tool where there is no system text', () => {
  const request = { ...requestOf([user('go')], 'anthropic/claude-sonnet-5'), system: undefined } as never
  const { body } = familyOf(traits).body({ request, target: { provider: 'anthropic', model: 'claude-sonnet-5' }, blobs: new Map() }, traits)
  expect((body as unknown as { tools: Block[] }).tools.map(({ cache_control: mark }) => mark !== undefined)).toEqual([false, true])
})
