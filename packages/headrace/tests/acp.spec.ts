import * as door from '@headrace/plugin-acp'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Lab, type Running, at } from './command.ts'

let lab: Lab
beforeEach(() => void (lab = new Lab()))
afterEach(() => lab.close())

interface Frame {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly update?: { readonly sessionUpdate: string; readonly content?: { readonly text?: string } } }
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string }
}

/** An editor's end of the line: frames as they are written, a line each. */
class Editor {
  readonly frames: Frame[] = []
  readonly running: Running
  private next = 0
  private rest = ''
  private readonly waiting = new Map<number, (frame: Frame) => void>()

  constructor(running: Running) {
    this.running = running
    running.child.stdout!.on('data', (text: string) => {
      const lines = (this.rest + text).split('\n')
      this.rest = lines.pop()!
      for (const line of lines) {
        const frame = JSON.parse(line) as Frame
        this.frames.push(frame)
        if (frame.id !== undefined && frame.method === undefined) this.waiting.get(frame.id)?.(frame)
      }
    })
  }

  request(method: string, params: object): Promise<Frame> {
    const id = this.next++
    const reply = new Promise<Frame>((resolve) => this.waiting.set(id, resolve))
    this.running.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return reply
  }
}

it('headrace acp serves an editor: nothing but frames is on stdout, and a closed stdin parks and ends it', async () => {
  const server = await lab.serve(() => 'It is fine.')
  const editor = new Editor(lab.start(['acp', ...at(server)], { pipe: true }))
  expect((await editor.request('initialize', { protocolVersion: 1, clientCapabilities: {} })).result).toMatchObject({ protocolVersion: 1, agentInfo: { name: 'headrace' } })
  const { result } = await editor.request('session/new', { cwd: lab.cwd, mcpServers: [] })
  const { sessionId } = result as { readonly sessionId: string }
  expect((await editor.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'How is it?' }] })).result).toMatchObject({ stopReason: 'end_turn' })
  const said = editor.frames.flatMap(({ params }) => (params?.update?.sessionUpdate === 'agent_message_chunk' ? [params.update.content!.text] : []))
  expect(said.join('')).toBe('It is fine.')
  editor.running.child.stdin!.end()
  expect(await editor.running.ended).toMatchObject({ code: 0, err: '' })
  expect((await lab.run(['verify', sessionId])).out).toMatch(/^ok: 1 request/)
  // The next one goes on with it.
  const again = new Editor(lab.start(['acp', ...at(server)], { pipe: true }))
  await again.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  expect((await again.request('session/load', { sessionId, cwd: lab.cwd, mcpServers: [] })).error).toBeUndefined()
  expect(again.frames.filter(({ method }) => method === 'session/update').length).toBeGreaterThan(1)
  again.running.child.kill('SIGTERM')
  expect(await again.running.ended).toMatchObject({ code: 0 })
})

it('what keeps the app from starting is told on stderr, and to the editor with what it asks for', async () => {
  const editor = new Editor(lab.start(['acp'], { pipe: true }))
  expect((await editor.request('initialize', { protocolVersion: 2, clientCapabilities: {} })).result).toMatchObject({ protocolVersion: 1 })
  expect((await editor.request('session/new', { cwd: lab.cwd, mcpServers: [] })).error?.message).toContain('there is no model')
  editor.running.child.stdin!.end()
  expect(await editor.running.ended).toMatchObject({ code: 1, err: expect.stringContaining('there is no model') as string })
})

it('the package that the command imports by name has what it calls', () => {
  expect(door).toMatchObject({ openWire: expect.any(Function) as unknown, onWire: expect.any(Function) as unknown })
})
