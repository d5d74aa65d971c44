import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

const TOOLS = ['echo', 'cut', 'cut-stream', 'big', 'big-stream', 'hang', 'header'].map((name) => ({ name, inputSchema: { type: 'object' } }))

/** An MCP server over streamable HTTP in this process, that can go, come back, and forget its sessions. */
export class HttpWorld {
  readonly requests: string[] = []
  tools: readonly object[] = TOOLS
  /** More of the answer to `initialize`. */
  more: { readonly capabilities?: object; readonly instructions?: string } = {}
  /** What answers before MCP does, where it gives true. */
  guard: (request: IncomingMessage, response: ServerResponse) => boolean = () => false
  /** Status of a request of a session that it does not know. */
  unknownSession = 404
  private readonly sessions = new Set<string>()
  private readonly sockets = new Set<Socket>()
  private server: Server | undefined
  private port = 0

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`
  }

  async open(): Promise<void> {
    const server = (this.server = createServer((request, response) => void this.answer(request, response)))
    server.on('connection', (socket) => this.sockets.add(socket))
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve))
    this.port = (server.address() as AddressInfo).port
  }

  /** Ends at once, whatever it is doing. */
  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    this.sockets.clear()
    await new Promise((resolve) => this.server?.close(resolve))
  }

  forget(): void {
    this.sessions.clear()
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.guard(request, response)) return
    if (request.method !== 'POST') return void response.writeHead(405).end()
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { id, method, params = {} } = JSON.parse(body) as { id?: unknown; method: string; params?: { name?: string } }
    this.requests.push(method === 'tools/call' ? `call ${params.name}` : method)
    const session = request.headers['mcp-session-id']
    if (method !== 'initialize' && !this.sessions.has(String(session))) {
      return void response.writeHead(this.unknownSession, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}')
    }
    if (id === undefined) return void response.writeHead(202).end()
    const give = (result: object): void => void response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    if (method === 'initialize') {
      const mine = randomUUID()
      this.sessions.add(mine)
      response.setHeader('mcp-session-id', mine)
      return give({ protocolVersion: '2025-06-18', serverInfo: { name: 'by-hand', version: '1' }, ...this.more, capabilities: { tools: {}, ...this.more.capabilities } })
    }
    if (method === 'tools/list') return give({ tools: this.tools })
    this.call(params.name, request, response, id, give)
  }

  private call(
    name: string | undefined, request: IncomingMessage, response: ServerResponse, id: unknown, give: (result: object) => void,
  ): void {
    const text = (said: string): object => ({ content: [{ type: 'text', text: said }] })
    const stream = (data: string): boolean => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(data)
    if (name === 'hang') return
    if (name === 'cut') return void response.destroy()
    if (name === 'cut-stream') return void (stream(': here\n\n') && setImmediate(() => response.destroy()))
    if (name === 'big') return give(text('x'.repeat(2_000_000)))
    if (name === 'big-stream') return void (stream(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: text('x'.repeat(2_000_000)) })}\n\n`), response.end())
    if (name === 'header') return give(text(String(request.headers.authorization)))
    give(text('Hi.'))
  }
}
