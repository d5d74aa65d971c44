import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MemoryStore } from '@headrace/session'
import { textOf } from '@headrace/message'
import { expectAppendOnly, type Harness } from '@headrace/testing'
import { argumentsOf, commandOf } from '../src/prompts.ts'
import { referencesIn } from '../src/resources.ts'
import type { ServerEntry } from '../src/servers.ts'
import { World, calling, resultOf, setup, toolsOf } from './kit.ts'

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => world.remove())

const STATE = {
  instructions: 'Ask for the echo first.', tools: [{ name: 'echo' }],
  prompts: [{ name: 'weather', arguments: [{ name: 'city', required: true }, { name: 'days' }] }, { name: 'plain one' }],
  resources: [{ uri: 'x:a', name: 'a', mimeType: 'text/plain', size: 3, description: 'The a.\nIt is.' }, { uri: 'x:b' }],
}
const servers = [{ connection: { name: 'my files' }, safe: 'my_files' }, { connection: { name: 'own' }, safe: 'own' }] as unknown as readonly ServerEntry[]

/** What the plugin told in the history. */
function told(h: Harness): readonly string[] {
  return h.agent.session.entries().filter(({ owner }) => owner.startsWith('mcp/')).map(({ owner, message }) => `${owner} ${message.role}: ${textOf(message)}`)
}

describe('what a prompt says', () => {
  it('refers to resources as @server:uri', () => {
    const found = (text: string) => referencesIn(text, servers).map(({ server, uri }) => `${server.safe} ${uri}`)
    expect(found('Read @own:file:///a/b.txt, then (@my_files:x:y?z=1) and "@own:q".')).toEqual(['own file:///a/b.txt', 'my_files x:y?z=1', 'own q'])
    expect(found('Mail me@own:x, @other:x, @own: x, @own:, @@own:x')).toEqual([])
    expect(found('@own:x @own:x @own:x')).toEqual(['own x'])
    expect(found(Array.from({ length: 40 }, (_, index) => `@own:${index}`).join(' '))).toHaveLength(10)
  })

  it('asks for prompts as /server:prompt', () => {
    const found = (text: string) => {
      const command = commandOf(text, servers)
      return command && [command.server.safe, command.prompt, command.rest]
    }
    expect(found('/own:weather Rome 3')).toEqual(['own', 'weather', 'Rome 3'])
    expect(found(' /my_files:a/b\n two\nlines ')).toEqual(['my_files', 'a/b', 'two\nlines'])
    for (const text of ['own:x', 'do /own:x', '/own', '/other:x', '/own: x', '']) expect(found(text)).toBeUndefined()
  })

  it('gives a prompt its arguments, by name or in their order', () => {
    const prompt = { name: 'x', arguments: [{ name: 'a', required: true }, { name: 'b', required: false }] }
    expect(argumentsOf(prompt, 'one two three')).toEqual({ a: 'one', b: 'two three' })
    expect(argumentsOf(prompt, 'b="two \\"x\\"" one')).toEqual({ a: 'one', b: 'two "x"' })
    expect(argumentsOf(prompt, 'c=1 __proto__=2')).toEqual({ a: 'c=1', b: '__proto__=2' })
    expect(argumentsOf({ name: 'x', arguments: [] }, 'more')).toEqual({})
    expect(() => argumentsOf(prompt, 'b=1')).toThrow('It needs a=….')
  })
})

describe('a server with more than tools', () => {
  it('has its instructions told once, its prompts as commands and its resources as references and by a tool', async () => {
    const h = await setup(world, { mcpServers: { own: world.server('own', STATE) } }, { script: [
      'ok', { calls: [{ name: 'mcp_resource' }, { name: 'mcp_resource', arguments: { server: 'own', uri: 'x:a' } }, { name: 'mcp_resource', arguments: { server: 'no', uri: 'x' } }] }, 'done',
    ] })
    await h.run('/own:weather Rome')
    expect(toolsOf(h)[0]).toEqual(['mcp_resource', 'own__echo'])
    expect(told(h)).toEqual([
      'mcp/instructions-own system: The MCP server own says of its tools:\n\nAsk for the echo first.',
      'mcp/prompt user: The user asks for the prompt "weather" of the MCP server "own":\nPrompt weather {"city":"Rome"}',
    ])
    await h.run('What is in @own:x:a and @own:p.png and @own:none?')
    const results = h.requests[2]!.messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
    expect(results.map(({ content }) => textOf({ content }))).toEqual([
      'Server own:\n- x:a a (text/plain, 3 bytes): The a. It is.\n- x:b', '[resource · x:a]\nContents of x:a', 'There is no MCP server "no". There is: own.',
    ])
    const resources = h.agent.session.entries().find(({ owner }) => owner === 'mcp/resources')!.message
    expect(resources.content.map((block) => (block.type === 'text' ? block.text : block.type))).toEqual([
      'The user refers to @own:x:a. Its contents:\n', 'Contents of x:a', 'The user refers to @own:p.png. Its contents:\n', 'image',
      'The user refers to @own:none, which cannot be read: The MCP server "own" gave no contents.',
    ])
    await h.run('/own:other')
    await h.run('/own:weather')
    await h.run('/own:plain-one')
    expect(told(h).slice(-3)).toEqual([
      'mcp/prompt user: The user asks for the prompt "other" of the MCP server "own", which cannot be had: There is none of that name. There is: weather, plain-one.',
      'mcp/prompt user: The user asks for the prompt "weather" of the MCP server "own", which cannot be had: It needs city=….',
      'mcp/prompt user: The user asks for the prompt "plain-one" of the MCP server "own":\nPrompt plain one {}',
    ])
    expect(told(h).filter((line) => line.startsWith('mcp/instructions'))).toHaveLength(1)
    expect(h.ctx.mcp.servers()[0]!.prompts).toEqual(['/own:weather', '/own:plain-one'])
    expectAppendOnly(h.requests)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('has told the same to a session that goes on without it', async () => {
    const store = new MemoryStore()
    const own = world.server('own', STATE)
    const h = await setup(world, { mcpServers: { own } }, { store })
    await h.run('Go')
    await h.dispose()
    world.set({ silent: ['initialize'] })
    const again = await setup(world, { firstWait: 1, connectTimeout: 200, mcpServers: { own } }, { store, agent: { id: 'other' }, script: calling('mcp_resource') })
    const agent = await again.ctx.agents.resume('test')
    await agent.prompt('Go on, with @own:x:a').result
    expect(JSON.stringify(again.requests[0]!.tools)).toBe(JSON.stringify(h.requests[0]!.tools))
    expect(resultOf(again).text).toBe('Server own: The MCP server "own" cannot be reached now. The call was not made.')
    expect(agent.session.entries().filter(({ owner }) => owner.startsWith('mcp/')).map(({ owner, message }) => `${owner}: ${textOf(message)}`)).toEqual([
      'mcp/instructions-own: The MCP server own says of its tools:\n\nAsk for the echo first.',
      'mcp/resources: The user refers to @own:x:a, which cannot be read: The MCP server "own" cannot be reached now. The call was not made.',
    ])
    await agent.dispose()
    await again.dispose()
  })
})

describe('a server that asks', () => {
  const asking = { calls: [{ name: 'own__ask', arguments: { method: 'elicitation/create', params: { message: 'Which one?', requestedSchema: { type: 'object', properties: { which: { type: 'string', pattern: '^x$' } }, required: ['which'] } } } }] }
  const state = { tools: [{ name: 'ask' }] }

  it('asks the person who is there, as a question of the call', async () => {
    const h = await setup(world, { mcpServers: { own: world.server('own', state) } }, { script: [asking, asking, 'done'] })
    h.ctx.agents.attend()
    const running = h.run('Go')
    for (const answer of [{ which: 'this' }, null]) {
      await expect.poll(() => h.agent.questions.length).toBe(1)
      const [question] = h.agent.questions
      expect(question).toMatchObject({ kind: 'input', question: 'The MCP server "own" asks: Which one?', schema: { required: ['which'] } })
      // A pattern of the server's making does not run here; the server checks its answer itself.
      expect(question!.schema!.properties).toEqual({ which: { type: 'string' } })
      await h.agent.answer(question!.seq, answer)
      await expect.poll(() => h.agent.questions.length).toBe(0)
    }
    await running
    const results = h.requests[2]!.messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
    expect(results.map(({ content }) => textOf({ content }))).toEqual(['{"action":"accept","content":{"which":"this"}}', '{"action":"decline"}'])
    await h.dispose()
  })

  it('cannot stop the process by the schema of its question, nor fill the screen', async () => {
    const doubling = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`d${index}`, index === 39
      ? { type: 'object' }
      : { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] }]))
    const asked = (requestedSchema: object) => ({ calls: [{ name: 'own__ask', arguments: { method: 'elicitation/create', params: { message: 'Which one?', requestedSchema } } }] })
    const large = { type: 'object', properties: Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`field-${index}`, { type: 'string' }])) }
    // The SDK takes the first of these for no request.
    const h = await setup(world, { mcpServers: { own: world.server('own', state) } }, { script: [asked({ type: 'object', properties: { which: { $ref: '#/$defs/d0' } }, $defs: doubling }), asked(large), 'done'] })
    h.ctx.agents.attend()
    await h.run('Go')
    expect((await h.events()).filter(({ type }) => type === 'question/asked')).toEqual([])
    const results = h.requests[2]!.messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
    expect(results.map(({ content }) => textOf({ content }))).toEqual([expect.stringMatching(/invalid/i), '{"action":"decline"}'])
    await h.dispose()
  })

  it('is told that nobody is there; gets the workspace as its root, and no model to ask', async () => {
    const ask = (method: string, params = {}) => ({ calls: [{ name: 'own__ask', arguments: { method, params } }] })
    const h = await setup(world, { mcpServers: { own: world.server('own', state) } }, { script: [asking, ask('roots/list'), ask('sampling/createMessage', { messages: [], maxTokens: 1 }), ask('no/such'), 'done'] })
    await h.run('Go')
    const results = h.requests[4]!.messages.flatMap((message) => (message.role === 'tool' ? message.content : [])).map(({ content }) => textOf({ content }))
    expect(results.slice(0, 2)).toEqual(['{"action":"cancel"}', `{"roots":[{"uri":"file://${world.project}"}]}`])
    expect(JSON.parse(results[2]!)).toMatchObject({ code: -32601 })
    expect(JSON.parse(results[3]!)).toMatchObject({ code: -32601 })
    await h.dispose()
  })

  it('is told that there are other roots, once another agent works in another folder', async () => {
    const script = (_: unknown, index: number) => (index === 2 ? { calls: [{ name: 'own__ask', arguments: { method: 'roots/list' } }] } : 'ok')
    const h = await setup(world, { mcpServers: { own: world.server('own', state) } }, { script })
    await h.run('Go')
    for (const id of ['same', 'other']) {
      const agent = await h.ctx.agents.create({ id, model: 'scripted/model', cwd: id === 'same' ? world.project : world.base })
      await agent.prompt('Go').result
    }
    expect(world.journal().filter((line) => line === 'notifications/roots/list_changed')).toHaveLength(1)
    expect(resultOf(h).text).toBe(JSON.stringify({ roots: [world.project, world.base].map((folder) => ({ uri: `file://${folder}` })) }))
    await h.dispose()
  })

  it('shows how far it is', async () => {
    const h = await setup(world, { mcpServers: { own: world.server('own', { tools: [{ name: 'progress' }] }) } }, { script: calling('own__progress') })
    await h.run('Go')
    const event = (await h.events()).find(({ type }) => type === 'tool/result')
    expect(event).toMatchObject({ data: { progress: { progress: 2, total: 2, message: 'part 2' } } })
    await h.dispose()
  })
})
