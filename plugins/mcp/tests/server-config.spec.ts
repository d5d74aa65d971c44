import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readServer, readServersFile } from '../src/server-config.ts'

const read = (value: unknown, env: NodeJS.ProcessEnv = {}) => readServer('x', value, env, '/work')

describe('an entry of mcpServers', () => {
  it('is a process by its command, or HTTP by its url, as other clients write them', () => {
    expect(read({ command: 'npx', args: ['-y', 'server', 1], env: { A: 'b', N: 1 }, cwd: 'sub' }).server)
      .toEqual({ name: 'x', kind: 'stdio', command: 'npx', args: ['-y', 'server', '1'], env: { A: 'b', N: '1' }, cwd: '/work/sub' })
    expect(read({ type: 'stdio', command: 'x' }).server).toEqual({ name: 'x', kind: 'stdio', command: 'x', args: [], env: {} })
    expect(read({ url: 'https://x.example/mcp', headers: { A: 'b' } }).server).toEqual({ name: 'x', kind: 'auto', url: 'https://x.example/mcp', headers: { A: 'b' }, oauth: {} })
    for (const [type, kind] of [['http', 'http'], ['streamable-http', 'http'], ['streamableHttp', 'http'], ['sse', 'sse']]) {
      expect(read({ type, url: 'https://x.example/mcp' }).server).toMatchObject({ kind })
    }
    expect(read({ command: 'x', disabled: true })).toEqual({ warnings: [] })
  })

  it('has its variables read, in every text', () => {
    const value = { command: '${HOME_OF}/x', args: ['${A}-${B:-two}', '${EMPTY:-three}'], env: { KEY: '${A}' }, cwd: '${HOME_OF}' }
    expect(read(value, { HOME_OF: '/opt', A: 'one', EMPTY: '' }).server).toMatchObject({ command: '/opt/x', args: ['one-two', 'three'], env: { KEY: 'one' }, cwd: '/opt' })
    expect(() => read({ url: 'https://x/${NONE}' })).toThrow('the MCP server "x" needs the variable NONE, which is not set')
    expect(read({ command: '$HOME ${1} ${a-b}' }).server).toMatchObject({ command: '$HOME ${1} ${a-b}' })
  })

  it('tells keys that it does not know, and goes on without them', () => {
    const { server, warnings } = read({ command: 'x', arg: ['y'], alwaysAllow: [], description: 'mine' })
    expect(server).toMatchObject({ command: 'x', args: [] })
    expect(warnings).toEqual(['the MCP server "x" has a key "arg" that is not known; did you mean "args"?; it is left out', 'the MCP server "x" has a key "alwaysAllow" that is not known; it is left out'])
  })

  it.each([
    [null, 'must be a map'], [[], 'must be a map'], ['npx', 'must be a map'], [{}, 'needs a command or a url'], [{ command: '' }, 'a command that is no text'],
    [{ command: ['x'] }, 'a command that is no text'], [{ command: 'x', args: 'y' }, 'args that are no list'], [{ command: 'x', env: { A: {} } }, 'in env a value of "A" that is no text'],
    [{ command: 'x', cwd: 1 }, 'a cwd that is no path'], [{ command: 'x', type: 'http' }, 'its type is stdio'], [{ url: 'x' }, 'none of http or https'], [{ url: 'file:///x' }, 'none of http or https'],
    [{ url: 'https://x', type: 'ws' }, 'a type that is none of'], [{ url: 'https://x', headers: [] }, 'headers that are no map'], [{ url: 'https://x', oauth: { secret: 'hidden' } }, 'an unknown "secret" in oauth'],
    [{ command: 'x', ask: 'sometimes' }, 'ask: always, writes or never'], [{ command: 'x', timeout: '1' }, 'a timeout that is no number'],
  ])('is refused where it is wrong, without its values: %j', (value, problem) => {
    expect(() => read(value)).toThrow(problem)
    expect(() => read(value)).not.toThrow('hidden')
  })
})

describe('a file of servers', () => {
  it('is read, and says what is wrong with it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const write = (text: string): void => writeFileSync(join(folder, '.mcp.json'), text)
    write('\uFEFF{ "mcpServers": { "a": { "command": "x" } } }')
    expect(await readServersFile('.mcp.json', folder)).toEqual({ servers: { a: { command: 'x' } }, folder })
    write('{ mcpServers: }')
    await expect(readServersFile('.mcp.json', folder)).rejects.toThrow('is no JSON')
    write('{ "servers": {} }')
    await expect(readServersFile('.mcp.json', folder)).rejects.toThrow('has no map "mcpServers"')
    await expect(readServersFile('other.json', folder)).rejects.toThrow('cannot be read')
  })
})
