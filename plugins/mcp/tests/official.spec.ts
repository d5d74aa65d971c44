import { createRequire } from 'node:module'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import everythingManifest from '@modelcontextprotocol/server-everything/package.json' with { type: 'json' }
import filesystemManifest from '@modelcontextprotocol/server-filesystem/package.json' with { type: 'json' }
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { textOf } from '@headrace/message'
import { expectAppendOnly, type Harness } from '@headrace/testing'
import { until } from '@headrace/testing/gate'
import { World, setup, toolsOf } from './kit.ts'

const everything = programOf(everythingManifest)
const filesystem = programOf(filesystemManifest)

/** The program of a package, as its manifest has it. */
function programOf({ name, bin }: { readonly name: string; readonly bin: Readonly<Record<string, string>> }): string {
  return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), Object.values(bin)[0]!)
}

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => world.remove())

interface CallResult {
  readonly name: string
  readonly text: string
  readonly blocks: readonly string[]
  readonly error: boolean
}

/** Results of all calls, in their order. */
function results(h: Harness): readonly CallResult[] {
  const blocks = h.requests.at(-1)!.messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
  return blocks.map(({ name, content, error }) => ({
    name, text: textOf({ content }), blocks: content.map(({ type }) => type), error: error === true,
  }))
}

describe('server-everything', () => {
  it('is driven through all its tools', async () => {
    const args: Readonly<Record<string, object>> = {
      'echo': { message: 'Hi.' }, 'get-sum': { a: 2, b: 3 }, 'get-annotated-message': { messageType: 'error', includeImage: true }, 'get-resource-links': { count: 2 },
      'get-resource-reference': { resourceType: 'Text', resourceId: 1 }, 'get-structured-content': { location: 'New York' },
      'trigger-long-running-operation': { duration: 0.2, steps: 2 }, 'gzip-file-as-resource': { name: 'a.gz', data: 'data:text/plain,abc', outputType: 'resource' },
    }
    let names: readonly string[] = []
    const h = await setup(world, { mcpServers: { all: { command: process.execPath, args: [everything] } } }, {
      script: (request, index) => {
        names = request.tools!.map(({ name }) => name).filter((name) => !/simulate-research|elicitation|sampling/.test(name))
        return index === 0 ? { calls: names.map((name) => ({ name, arguments: args[name.slice('all__'.length)] ?? {} })) } : 'done'
      },
    })
    await h.run('Go')
    const got = Object.fromEntries(results(h).map(({ name, ...result }) => [name.slice('all__'.length), result]))
    expect(Object.keys(got)).toHaveLength(names.length)
    expect(names.length).toBeGreaterThanOrEqual(13)
    expect(Object.entries(got).filter(([, { error }]) => error)).toEqual([])
    expect(got).toMatchObject({
      'echo': { text: 'Echo: Hi.' }, 'get-sum': { text: expect.stringContaining('5') as string }, 'get-tiny-image': { blocks: ['text', 'image', 'text'] },
      'get-roots-list': { text: expect.stringContaining(world.project) as string }, 'get-structured-content': { blocks: ['text'] }, 'gzip-file-as-resource': { blocks: ['text', 'file'] },
    })
    expect(got['get-env']!.text).not.toMatch(/HEADRACE|NODE_ENV|VITEST/)
    expectAppendOnly(h.requests)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })
})

describe('server-everything that is killed in mid-call', () => {
  it('is an error of that call, is there for the next, and the tools stay', async () => {
    const pidFile = join(world.base, 'pid')
    const args = ['-c', `echo $$ > "${pidFile}"; exec "${process.execPath}" "${everything}"`]
    const script = [{ calls: [{ name: 'all__trigger-long-running-operation', arguments: { duration: 60, steps: 60 } }] }, { calls: [{ name: 'all__echo', arguments: { message: 'Hi.' } }] }, 'done']
    const h = await setup(world, { mcpServers: { all: { command: 'sh', args } } }, { script })
    const running = h.run('Go')
    await expect.poll(async () => (await h.events()).some(({ type }) => type === 'tool/start')).toBe(true)
    process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL')
    await running
    expect(results(h).map(({ text }) => text)).toEqual(['The MCP server "all" ended before it answered. The call may have had its effect.', 'Echo: Hi.'])
    expect(new Set(toolsOf(h).map(String)).size).toBe(1)
    await h.dispose()
  })
})

describe('server-filesystem', () => {
  it('is driven through all its tools, in the workspace', async () => {
    const at = (name: string): string => join(world.project, name)
    writeFileSync(at('a.txt'), 'one\ntwo\n')
    mkdirSync(at('sub'))
    const calls: readonly (readonly [string, object])[] = [
      ['list_allowed_directories', {}], ['read_file', { path: at('a.txt') }], ['read_text_file', { path: at('a.txt'), head: 1 }], ['read_media_file', { path: at('a.txt') }], ['read_multiple_files', { paths: [at('a.txt')] }],
      ['write_file', { path: at('b.txt'), content: 'three\n' }], ['edit_file', { path: at('b.txt'), edits: [{ oldText: 'three', newText: 'four' }] }], ['create_directory', { path: at('new') }],
      ['list_directory', { path: world.project }], ['list_directory_with_sizes', { path: world.project }], ['directory_tree', { path: world.project }], ['move_file', { source: at('b.txt'), destination: at('c.txt') }],
      ['search_files', { path: world.project, pattern: '*.txt' }], ['get_file_info', { path: at('c.txt') }], ['read_text_file', { path: '/etc/hostname' }],
    ]
    const h = await setup(world, { mcpServers: { files: { command: process.execPath, args: [filesystem, world.project] } } }, {
      script: [...calls.map(([name, args]) => ({ calls: [{ name: `files__${name}`, arguments: args }] })), 'done'],
    })
    await h.run('Go')
    expect(toolsOf(h)[0]).toEqual([...new Set(calls.map(([name]) => `files__${name}`))].sort())
    const got = results(h)
    expect(got.map(({ error }) => error)).toEqual(calls.map((_, index) => index === calls.length - 1))
    expect(got[1]!.text).toBe('one\ntwo\n')
    expect(readFileSync(at('c.txt'), 'utf8')).toBe('four\n')
    expect(h.ctx.mcp.tool('files__read_file')!.hints.readOnlyHint).toBe(true)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('killed while it reads is an error of that call; the next ones find it again, and the tools stay', async () => {
    const at = (name: string): string => join(world.project, name)
    const pidFile = join(world.base, 'pid')
    // A FIFO is read for as long as nobody writes to it.
    execFileSync('mkfifo', [at('pipe')])
    const args = ['-c', `echo $$ >> "${pidFile}"; exec "${process.execPath}" "${filesystem}" "${world.project}"`]
    const calls: readonly (readonly [string, object])[] = [
      ['write_file', { path: at('a.txt'), content: 'one' }], ['read_text_file', { path: at('pipe') }], ['write_file', { path: at('b.txt'), content: 'two' }],
      ['read_multiple_files', { paths: [at('a.txt'), at('b.txt')] }], ['list_directory', { path: world.project }],
    ]
    const h = await setup(world, { mcpServers: { files: { command: 'sh', args } } }, {
      script: [...calls.map(([name, input]) => ({ calls: [{ name: `files__${name}`, arguments: input }] })), 'done'],
    })
    const running = h.run('Go')
    const writer = await until(() => opened(at('pipe')), 'the server to read the pipe')
    const pids = (): readonly string[] => readFileSync(pidFile, 'utf8').trim().split('\n')
    process.kill(Number(pids()[0]), 'SIGKILL')
    await running
    closeSync(writer)
    const got = results(h)
    expect(got.map(({ error }) => error)).toEqual([false, true, false, false, false])
    expect(got[1]!.text).toBe('The MCP server "files" ended before it answered. The call may have had its effect.')
    expect(got[3]!.text).toMatch(/one[^]*two/)
    expect(pids()).toHaveLength(2)
    expect(new Set(toolsOf(h).map(String)).size).toBe(1)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })
})

/** A FIFO opened for writing, once somebody reads it. */
function opened(path: string): number | undefined {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
}
