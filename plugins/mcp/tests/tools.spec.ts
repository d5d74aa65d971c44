import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { textOf } from '@headrace/message'
import { expectAppendOnly } from '@headrace/testing'
import { HttpWorld } from './http-server.ts'
import { World, calling, logged, resultOf, setup, toolsOf } from './kit.ts'

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => {
  vi.unstubAllEnvs()
  world.remove()
})

describe('tools of a server', () => {
  it('are the model\'s, under the server\'s name, and answer; they go with the plugin, and so does the process', async () => {
    const h = await setup(world, {}, { script: calling('own__echo', { text: 'Hello.' }) })
    await h.run('Go')
    expect(toolsOf(h)).toEqual([['own__echo'], ['own__echo']])
    expect(h.requests[0]!.tools![0]).toEqual({ name: 'own__echo', description: 'Says it again.', parameters: { type: 'object', properties: { text: { type: 'string' } } } })
    expect(resultOf(h)).toEqual({ text: 'Hello.', error: false, blocks: ['text'] })
    expect(h.agent.session.requestHeader()!.owners!.tools).toEqual({ own__echo: 'mcp/own__echo' })
    await h.dispose()
    expect(() => process.kill(world.pids()[0]!, 0)).toThrow()
  })

  it('of two servers stay apart, and one call goes to one of them', async () => {
    const h = await setup(world, { mcpServers: { 'one x': world.server('a'), two: world.server('b') } }, { script: calling('two__echo', {}) })
    await h.run('Go')
    expect(toolsOf(h)[0]).toEqual(['one_x__echo', 'two__echo'])
    expect([world.journal('a'), world.journal('b')].map((lines) => lines.includes('call echo'))).toEqual([false, true])
    await h.dispose()
  })

  it('that are broken are left out alone, and told', async () => {
    const good = { name: 'good', inputSchema: { type: 'object', properties: { pattern: { type: 'string' }, to: { $ref: '#/$defs/to' } }, $defs: { to: { type: 'string' } } } }
    const broken = [
      { name: 'a', inputSchema: { type: 'strange' } }, { name: 'b', inputSchema: { type: 'array' } }, { name: 'c', inputSchema: { type: 'object', properties: { x: { type: 'text' } } } },
      { name: 'd', inputSchema: { type: 'object', properties: { x: { $ref: '#/nowhere' } } } }, { name: 'e', inputSchema: { type: 'object', properties: { x: { type: 'string', pattern: '(' } } } },
      { name: 'f', inputSchema: 'none' }, { name: '', inputSchema: {} }, null, 7, { name: 'good' }, { name: 'g', inputSchema: { type: 'object', required: 'x' } },
      { name: 'h', inputSchema: { type: 'object', properties: { x: { $ref: 'https://example.com/schema' } } } }, { name: 'i', inputSchema: { type: 'object', description: 'x'.repeat(60_000) } },
    ]
    const older = { name: 'older', inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { x: { type: 'array', items: [{ type: 'string' }] } } } }
    const warnings = logged()
    const h = await setup(world, { mcpServers: { own: world.server('own', { tools: [good, ...broken, older, { name: 'bare' }] }) } }, { plugins: [warnings.plugin] })
    await h.run('Go')
    expect(toolsOf(h)[0]).toEqual(['own__bare', 'own__good', 'own__older'])
    expect(warnings.lines.filter((line) => line.includes('left out'))).toHaveLength(broken.length)
    await h.dispose()
  })

  it('have patterns and references that run nowhere here: a hostile schema does not stop the process, the server gets the call', async () => {
    const doubling = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`d${index}`, index === 39 ? {} : { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] }]))
    const properties = { a: { type: 'string', pattern: '^(a+)+$' }, b: { $ref: '#/$defs/d0' } }
    const args = { a: `${'a'.repeat(60)}!`, b: 1 }
    const tools = [{ name: 'hostile', inputSchema: { type: 'object', properties, patternProperties: { '^(x|x)*$': {} }, $defs: doubling } }]
    const h = await setup(world, { mcpServers: { own: world.server('own', { tools }) } }, { script: calling('own__hostile', args) })
    await h.run('Go')
    expect(resultOf(h)).toMatchObject({ error: false, text: `hostile ${JSON.stringify(args)}` })
    await h.dispose()
  })

  it('with odd letters, on many pages, all come', async () => {
    const tools = ['read file', 'read.file', 'größe', '__', 'x'.repeat(100), 'y'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }))
    const h = await setup(world, { mcpServers: { 'my srv!': world.server('own', { tools, pages: 3 }) } })
    await h.run('Go')
    const names = h.requests[0]!.tools!.map(({ name, description }) => [description, name])
    expect(names).toHaveLength(6)
    for (const [, name] of names) expect(name).toMatch(/^my_srv__[a-zA-Z0-9_-]{1,56}$/)
    expect(Object.fromEntries(names)).toMatchObject({ y: 'my_srv__y', größe: 'my_srv__gro_e' })
    await h.dispose()
  })

  it('are bounded in number, however many pages there are, and in their words', async () => {
    const warnings = logged()
    const config = { mcpServers: { own: world.server('own', { endless: true }), long: world.server('long', { tools: [{ name: 'x', description: 'd'.repeat(9_000) }] }) }, maxTools: 30 }
    const h = await setup(world, config, { plugins: [warnings.plugin] })
    await h.run('Go')
    expect(toolsOf(h)[0]).toHaveLength(31)
    expect(h.requests[0]!.tools![0]!.description).toHaveLength(4_000)
    expect(warnings.lines.join('\n')).toMatch(/more than 100 pages.*\n.*more than 30 tools/)
    await h.dispose()
  })

  it('ask before they run, with all that they are given, as the rule says', async () => {
    const tools = [{ name: 'look', annotations: { readOnlyHint: true } }, { name: 'change', annotations: { readOnlyHint: 'yes' } }]
    const server = new HttpWorld()
    server.tools = tools
    await server.open()
    onTestFinished(() => server.close())
    const asked: string[] = []
    const script = [{ calls: [{ name: 'own__look', arguments: { a: '\u202e' } }, { name: 'own__change', arguments: {} }] }, 'done']
    for (const [rule, own, expected] of [
      ['always', {}, ['Run own__look of the MCP server "own" with {"a":"\\u202e"}?', 'Run own__change of the MCP server "own" with {}?']],
      ['writes', {}, ['Run own__change of the MCP server "own" with {}?']], ['never', {}, []], ['never', { ask: 'writes' }, ['Run own__change of the MCP server "own" with {}?']],
    ] as const) {
      const h = await setup(world, { ask: rule, mcpServers: { own: { url: server.url, type: 'http', ...own } } }, { script })
      h.ctx.on('tools/ask', async (_agent, _turn, _call, question) => {
        asked.push(question)
        return 'allow'
      })
      await h.run('Go')
      expect(asked.splice(0)).toEqual(expected)
      await h.dispose()
    }
  })

  it('are known to other plugins, with the server\'s word of what they do', async () => {
    const annotations = { title: 'Look', readOnlyHint: true, destructiveHint: 'no', strange: 1 }
    const h = await setup(world, { mcpServers: { own: world.server('own', { tools: [{ name: 'look up', annotations }] }) } })
    await h.run('Go')
    expect(h.ctx.mcp.tool('own__look_up')).toEqual({ name: 'own__look_up', server: 'own', tool: 'look up', hints: { title: 'Look', readOnlyHint: true } })
    expect(h.ctx.mcp.tool('bash')).toBeUndefined()
    expect(h.ctx.mcp.servers()).toEqual([{ name: 'own', state: 'ready', tools: ['own__look_up'], prompts: [] }])
    await h.dispose()
  })
})

describe('a process', () => {
  it('gets the config\'s variables and a few safe ones, not the keys of this process; it runs in the workspace', async () => {
    vi.stubEnv('SECRET_KEY', 'hidden')
    vi.stubEnv('WANTED', 'one')
    const script = [{ calls: [{ name: 'own__env', arguments: {} }, { name: 'own__cwd', arguments: {} }] }, 'done']
    const own = { ...world.server('own', { tools: [{ name: 'env' }, { name: 'cwd' }] }), env: { MINE: '${WANTED}' } }
    const h = await setup(world, { mcpServers: { own } }, { script })
    await h.run('Go')
    const [env, cwd] = h.requests[1]!.messages.flatMap((message) => (message.role === 'tool' ? message.content : [])).map(({ content }) => textOf({ content }))
    expect(JSON.parse(env!)).toMatchObject({ MINE: 'one', PATH: process.env.PATH })
    expect(env).not.toContain('hidden')
    expect(cwd).toBe(world.project)
    await h.dispose()
  })
})

describe('results', () => {
  const outcomes: Readonly<Record<string, readonly [text: string, error: boolean, blocks: readonly string[]]>> = {
    error: ['It went wrong.', true, ['text']], image: ['', false, ['image']], structured: ['"degrees": 20', false, ['text']],
    odd: ['[a part of the kind "hologram", which cannot be shown]', false, ['text', 'text', 'text', 'text']], nothing: ['', false, []],
    refuse: ['The MCP server "own" answered with an error: ', true, ['text']], links: ['[resource · a · file:///a.txt · text/plain · A file]', false, ['text', 'text', 'file', 'file']],
    progress: ['all parts', false, ['text']],
  }

  it('are what the server gave: errors as errors, images and files beside the log, nothing lost in silence', async () => {
    const tools = Object.keys(outcomes).map((name) => ({ name }))
    const script = [...Object.keys(outcomes).map((name) => ({ calls: [{ name: `own__${name}`, arguments: {} }] })), 'done']
    const h = await setup(world, { mcpServers: { own: world.server('own', { tools }) } }, { script })
    await h.run('Go')
    const results = h.requests.at(-1)!.messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
    for (const [index, [name, [text, error, blocks]]] of Object.entries(outcomes).entries()) {
      const { content, error: failed } = results[index]!
      expect([name, content.map(({ type }) => type), failed === true]).toEqual([name, blocks, error])
      const [first] = content
      if (text !== '') expect(first).toMatchObject({ text: expect.stringContaining(text) as string })
    }
    expectAppendOnly(h.requests)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('that are too long are cut by the loop, or end the connection where a message is beyond all bounds; the next call goes on', async () => {
    const tools = [{ name: 'big' }, { name: 'echo' }]
    const script = [{ calls: [{ name: 'own__big', arguments: { size: 300_000 } }] }, { calls: [{ name: 'own__big', arguments: { size: 3_000_000 } }] }, { calls: [{ name: 'own__echo', arguments: { text: 'again' } }] }, 'done']
    const h = await setup(world, { maxMessage: 1_000_000, mcpServers: { own: world.server('own', { tools }) } }, { script })
    await h.run('Go')
    const texts = h.requests.at(-1)!.messages.flatMap((message) => (message.role === 'tool' ? message.content : [])).map(({ content }) => (content[0] as { text: string }).text)
    expect(texts[0]!.length).toBeLessThan(201_000)
    expect(texts[1]).toBe('The MCP server "own" answered with more than 1000000 bytes, which were dropped. The call may have had its effect.')
    expect(texts[2]).toBe('again')
    await h.dispose()
  })
})
