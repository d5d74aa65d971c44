import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import manifest from '@modelcontextprotocol/server-everything/package.json' with { type: 'json' }
import { textOf } from '@headrace/message'
import type { Harness } from '@headrace/testing'
import { HttpWorld } from './http-server.ts'
import { World, resultOf, setup, toolsOf } from './kit.ts'

const program = join(dirname(createRequire(import.meta.url).resolve(`${manifest.name}/package.json`)), Object.values(manifest.bin)[0]!)

let world: World
let server: HttpWorld
beforeEach(async () => {
  world = new World()
  server = new HttpWorld()
  await server.open()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await server.close()
  world.remove()
})

function texts(h: Harness): readonly string[] {
  return h.requests.at(-1)!.messages.flatMap((message) => (message.role === 'tool' ? message.content : [])).map(({ content }) => textOf({ content }))
}

/** Calls of tools of the server, one a step. */
const steps = (...names: string[]) => [...names.map((name) => ({ calls: [{ name: `web__${name}` }] })), 'done']

describe('a server by HTTP', () => {
  it('gets the headers of the config, and its tools answer', async () => {
    vi.stubEnv('TOKEN', 'one')
    const h = await setup(world, { mcpServers: { web: { url: server.url, headers: { Authorization: 'Bearer ${TOKEN}' } } } }, { script: steps('header') })
    await h.run('Go')
    expect(texts(h)).toEqual(['Bearer one'])
    await h.dispose()
  })

  it('that has forgotten the session gets the call again, in a new one', async () => {
    for (const status of [404, 400]) {
      server.unknownSession = status
      const h = await setup(world, { mcpServers: { web: { url: server.url, type: 'http' } } }, { script: (_, index) => {
        if (index === 0) server.forget()
        return steps('echo')[index]!
      } })
      await h.run('Go')
      expect(texts(h)).toEqual(['Hi.'])
      expect(server.requests.splice(0).filter((line) => line === 'initialize' || line === 'call echo')).toEqual(['initialize', 'call echo', 'initialize', 'call echo'])
      await h.dispose()
    }
  })

  it('that cuts the answer short, or gives one beyond all bounds, is an error of that call; the others go on', async () => {
    const h = await setup(world, { maxMessage: 1_000_000, mcpServers: { web: { url: server.url, type: 'http' } } }, { script: steps('cut', 'cut-stream', 'big', 'big-stream', 'echo') })
    await h.run('Go')
    const cut = expect.stringMatching(/^The MCP server "web" (ended before it answered|answered with an error)/) as string
    const large = 'The MCP server "web" answered with more than 1000000 bytes, which were dropped. The call may have had its effect.'
    // A stream of events ends where it is too long.
    expect(texts(h)).toEqual([cut, cut, large, cut, 'Hi.'])
    await h.dispose()
  })

  it('that goes and comes back leaves the tools, and its calls say so', async () => {
    const h = await setup(world, { mcpServers: { web: { url: server.url, type: 'http' } } }, { script: (_, index) => (index % 2 === 0 ? { calls: [{ name: 'web__echo' }] } : 'done') })
    await h.run('Go')
    await server.close()
    const again = await h.ctx.agents.fork(h.agent.id)
    await again.prompt('Again').result
    await server.open()
    await again.prompt('Once more').result
    expect(new Set(toolsOf(h).map(String)).size).toBe(1)
    // A connection that was kept open may have broken on the way.
    expect(texts(h)).toEqual(['Hi.', expect.stringMatching(/^The MCP server "web" (cannot be reached now|ended before it answered)/), 'Hi.'])
    await again.dispose()
    await h.dispose()
  })

  it('is ended at a cancel', async () => {
    const h = await setup(world, { mcpServers: { web: { url: server.url, type: 'http' } } }, { script: steps('hang') })
    const running = h.run('Go')
    await expect.poll(() => server.requests).toContain('call hang')
    h.agent.cancel()
    expect(await running).toMatchObject({ reason: 'cancelled' })
    await expect.poll(() => server.requests).toContain('notifications/cancelled')
    await h.dispose()
  })
})

describe('server-everything by HTTP', () => {
  it('is driven as by stdio', async () => {
    const { child, url } = await begin()
    onTestFinished(() => void child.kill('SIGKILL'))
    const calls = [{ name: 'all__echo', arguments: { message: 'Hi.' } }, { name: 'all__get-tiny-image' }, { name: 'all__trigger-long-running-operation', arguments: { duration: 0.1, steps: 2 } }, { name: 'mcp_resource' }]
    const h = await setup(world, { mcpServers: { all: { url } } }, { script: [{ calls }, 'done'] })
    await h.run('Go')
    const results = h.requests[1]!.messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
    expect(results.map(({ error }) => error === true)).toEqual([false, false, false, false])
    expect(results[1]!.content.map(({ type }) => type)).toEqual(['text', 'image', 'text'])
    expect(resultOf(h).error).toBe(false)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })
})

/** Starts server-everything over streamable HTTP, at a port that was free. */
async function begin(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const free = new HttpWorld()
  await free.open()
  await free.close()
  const child = spawn(process.execPath, [program, 'streamableHttp'], { env: { ...process.env, PORT: new URL(free.url).port }, stdio: ['ignore', 'pipe', 'pipe'] })
  await new Promise<void>((resolve, reject) => {
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => /listening on port/i.test(text += String(chunk)) && resolve())
    child.once('exit', () => reject(new Error(`it ended: ${text}`)))
  })
  return { child, url: free.url }
}
