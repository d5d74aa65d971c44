import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MemoryStore, type SessionEvent } from '@headrace/session'
import { expectAppendOnly, type Harness } from '@headrace/testing'
import { type ServerState, World, calling, logged, resultOf, setup, toolsOf } from './kit.ts'

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => world.remove())

const named = (...names: string[]) => names.map((name) => ({ name }))

/** Header events that changed the tools. */
async function toolChanges(h: Harness): Promise<number> {
  const headers = (await h.events()).filter((event): event is SessionEvent<'request/header' | 'request/header-delta'> => event.type.startsWith('request/header'))
  return headers.filter(({ data }) => JSON.stringify(data).includes('"tools":')).length
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Runs turns until the model has these tools. */
async function untilTools(h: Harness, ...names: string[]): Promise<void> {
  const told = async (): Promise<readonly string[] | undefined> => {
    await h.run('Go')
    return toolsOf(h).at(-1)
  }
  await expect.poll(told, { interval: 50 }).toEqual(names)
}

describe('a server that ends in mid-call', () => {
  it('is an error result that says so, leaves the tools, and is there again for the next call', async () => {
    const script = [{ calls: [{ name: 'own__die' }] }, { calls: [{ name: 'own__echo', arguments: { text: 'Back.' } }] }, 'done']
    const h = await setup(world, { mcpServers: { own: world.server('own', { tools: named('die', 'echo') }) } }, { script })
    await h.run('Go')
    expect(h.requests[1]!.messages.at(-1)).toMatchObject({ content: [{ error: true, content: [{ text: 'The MCP server "own" ended before it answered. The call may have had its effect.' }] }] })
    expect(resultOf(h)).toMatchObject({ text: 'Back.', error: false })
    expect(world.pids()).toHaveLength(2)
    expect(await toolChanges(h)).toBe(1)
    expectAppendOnly(h.requests)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('by SIGKILL is no other', async () => {
    const h = await setup(world, { mcpServers: { own: world.server('own', { tools: named('hang') }) } }, { script: calling('own__hang') })
    const running = h.run('Go')
    await expect.poll(() => world.journal()).toContain('call hang')
    process.kill(world.pids()[0]!, 'SIGKILL')
    await running
    expect(resultOf(h)).toMatchObject({ error: true, text: expect.stringContaining('ended before it answered') as string })
    await h.dispose()
  })
})

describe('the list that a server sent', () => {
  it('changes the tools at the next boundary, as one logged change', async () => {
    const state = { tools: named('become', 'new', 'other') }
    const script = [{ calls: [{ name: 'own__become', arguments: { state } }] }, { calls: [{ name: 'own__new', arguments: {} }] }, 'done']
    const h = await setup(world, { mcpServers: { own: world.server('own', { tools: named('become', 'old') }) } }, { script })
    await h.run('Go')
    const after = ['own__become', 'own__new', 'own__other']
    expect(toolsOf(h)).toEqual([['own__become', 'own__old'], after, after])
    expect(resultOf(h)).toMatchObject({ text: 'new {}', error: false })
    expect(await toolChanges(h)).toBe(2)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('that is the same, or sent all the time, changes nothing and is read seldom', async () => {
    const h = await setup(world, { mcpServers: { own: world.server('own', { tools: named('become') }) } }, { script: [{ calls: [{ name: 'own__become', arguments: { times: 500 } }] }, 'done'] })
    await h.run('Go')
    await h.run('Go')
    expect(await toolChanges(h)).toBe(1)
    expect(world.journal().filter((line) => line === 'tools/list').length).toBeLessThanOrEqual(3)
    await h.dispose()
  })

  it('takes a tool away that a call names', async () => {
    const script = [{ calls: [{ name: 'own__become', arguments: { state: { tools: named('become') } } }] }, { calls: [{ name: 'own__old' }] }, 'done']
    const h = await setup(world, { mcpServers: { own: world.server('own', { tools: named('become', 'old') }) } }, { script })
    await h.run('Go')
    expect(resultOf(h)).toEqual({ text: 'There is no tool "own__old". There is: own__become.', error: true, blocks: ['text'] })
    await h.dispose()
  })
})

describe('a server that is slow', () => {
  it('is waited for until the bound; its tools come when it has told them', async () => {
    const h = await setup(world, { firstWait: 1, mcpServers: { own: world.server('own', { hold: 'initialize' }) } })
    await h.run('Go')
    expect(toolsOf(h)).toEqual([[]])
    world.set({})
    await untilTools(h, 'own__echo')
    expect(await toolChanges(h)).toBe(1)
    await h.dispose()
  })

  it('or dies on its start is told to people, with what it wrote; the agent goes on', async () => {
    const warnings = logged()
    const config = { mcpServers: { own: world.server('own', { die: 'start', stderr: 'No key given!\n' }), none: { command: '/no/such/command' } } }
    const h = await setup(world, config, { plugins: [warnings.plugin] })
    await h.run('Go')
    expect(toolsOf(h)).toEqual([[]])
    expect(warnings.lines.find((line) => line.includes('"own"'))).toMatch(/^the MCP server "own": it cannot be reached: .*; it wrote: No key given!$/)
    expect(warnings.lines.find((line) => line.includes('"none"'))).toMatch(/ENOENT/)
    expect(h.ctx.mcp.servers()).toMatchObject([{ name: 'own', state: 'down' }, { name: 'none', state: 'down' }])
    await h.dispose()
  })

  it('or talks nonsense between its messages is understood', async () => {
    const h = await setup(world, { mcpServers: { own: world.server('own', { noise: true }) } }, { script: calling('own__echo', { text: 'Fine.' }) })
    await h.run('Go')
    expect(resultOf(h)).toMatchObject({ text: 'Fine.' })
    await h.dispose()
  })
})

describe('a session that goes on in another process', () => {
  /** One turn, then the same session in a new app, whose server is as `state` says. */
  async function resumed(state: ServerState, config: object = {}, later?: ServerState) {
    const store = new MemoryStore()
    const own = world.server('own', { tools: named('echo', 'die') })
    const h = await setup(world, { mcpServers: { own } }, { store })
    await h.run('Go')
    await h.dispose()
    world.set({ tools: named('echo', 'die'), ...state })
    const again = await setup(world, { firstWait: 1, connectTimeout: 200, mcpServers: { own }, ...config }, {
      store, agent: { id: 'other' },
      script: (_, index) => {
        if (later) world.set(later)
        return index === 0 ? { calls: [{ name: 'own__echo', arguments: { text: 'Hi.' } }] } : 'done'
      },
    })
    const agent = await again.ctx.agents.resume('test')
    return { h, again, agent }
  }

  it('has the tools that it was told, byte for byte, where the server does not come; calls say so', async () => {
    const { h, again, agent } = await resumed({ silent: ['initialize'] })
    await agent.prompt('Go on').result
    expect(JSON.stringify(again.requests[0]!.tools)).toBe(JSON.stringify(h.requests[0]!.tools))
    expect(agent.session.requestHeader()!.owners!.tools).toEqual({ own__die: 'mcp/own__die', own__echo: 'mcp/own__echo' })
    expect(resultOf(again)).toEqual({ text: 'The MCP server "own" cannot be reached now. The call was not made.', error: true, blocks: ['text'] })
    expectAppendOnly([...h.requests, ...again.requests])
    await agent.dispose()
    await again.dispose()
  })

  it('and calls one of them waits for the server to come', async () => {
    const { again, agent } = await resumed({ hold: 'initialize' }, { connectTimeout: 60_000 }, { tools: named('echo', 'die') })
    await agent.prompt('Go on').result
    expect(resultOf(again)).toMatchObject({ text: 'Hi.', error: false })
    expect(toolsOf(again)).toEqual([['own__die', 'own__echo'], ['own__die', 'own__echo']])
    await agent.dispose()
    await again.dispose()
  })

  it('has another list only when the server has sent it', async () => {
    const { again, agent } = await resumed({ hold: 'initialize' }, { connectTimeout: 60_000 }, { tools: named('new') })
    await agent.prompt('Go on').result
    expect(toolsOf(again)).toEqual([['own__die', 'own__echo'], ['own__new']])
    expect(resultOf(again)).toEqual({ text: 'The MCP server "own" has no tool own__echo any more.', error: true, blocks: ['text'] })
    await agent.dispose()
    await again.dispose()
  })

  it('loses the tools of a server that is not configured any more', async () => {
    const { again, agent } = await resumed({}, { mcpServers: {} })
    await agent.prompt('Go on').result
    expect(toolsOf(again)[0]).toEqual([])
    await agent.dispose()
    await again.dispose()
  })
})

describe('the end', () => {
  it('of a call that is cancelled is told to the server', async () => {
    const h = await setup(world, { mcpServers: { own: world.server('own', { tools: named('hang') }) } }, { script: calling('own__hang') })
    const running = h.run('Go')
    await expect.poll(() => world.journal()).toContain('call hang')
    h.agent.cancel()
    expect(await running).toMatchObject({ reason: 'cancelled' })
    await expect.poll(() => world.journal().map((line) => line.split(' ')[0])).toContain('notifications/cancelled')
    await h.dispose()
  })

  it('of the plugin is the end of its processes, also of one that does not end by itself', async () => {
    const config = { mcpServers: { own: world.server('own', { stays: true }), slow: world.server('slow', { silent: ['initialize'] }) }, firstWait: 1 }
    const h = await setup(world, config)
    await untilTools(h, 'own__echo')
    await h.dispose()
    for (const pid of ['own', 'slow'].flatMap((server) => world.pids(server))) await expect.poll(() => isRunning(pid)).toBe(false)
    expect(world.journal()).toContain('stdin ended')
  })
})
