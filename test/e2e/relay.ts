import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a provider does now and then, and nobody can ask it to. */
export type Fault = 'cut' | 'rate limit' | 'overflow'

/** Stands between headrace and the providers, so that a stream can be cut, a limit reached and a window exceeded, once each. */
export interface Relay {
  /** Where a provider is reached. */
  urlOf(provider: string): string
  /** The next request meets it. */
  fail(fault: Fault): void
  close(): Promise<void>
}

const HOP = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'content-encoding', 'keep-alive', 'accept-encoding'])
/** Bytes of an answer that come through before it is cut. */
const CUT = 200

/**
 * @param bases where each provider is
 * @param pause milliseconds that a rate limit asks for
 */
export async function startRelay(bases: ReadonlyMap<string, string>, pause: number): Promise<Relay> {
  let next: Fault | undefined
  const server = createServer((request, response) => {
    const fault = next
    next = undefined
    void pass(request, response, bases, fault, pause).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    urlOf: (provider) => `http://127.0.0.1:${port}/${provider}`,
    fail: (fault) => void (next = fault),
    close: () => new Promise((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    }),
  }
}

async function pass(
  request: IncomingMessage, response: ServerResponse, bases: ReadonlyMap<string, string>, fault: Fault | undefined, pause: number,
): Promise<void> {
  const [, provider = '', rest = ''] = /^\/([^/]+)(.*)$/.exec(request.url ?? '') ?? []
  const body: Buffer[] = []
  for await (const piece of request as AsyncIterable<Buffer>) body.push(piece)
  if (fault === 'rate limit') return refuse(response, 429, 'Rate limit reached, please slow down.', 'rate_limit_exceeded', { 'retry-after-ms': `${pause}` })
  if (fault === 'overflow') {
    return refuse(response, 400, "This model's maximum context length is 9000 tokens. Your messages resulted in 9100 tokens.", 'context_length_exceeded')
  }
  const ended = new AbortController()
  response.once('close', () => ended.abort())
  const headers = Object.entries(request.headers).filter((pair): pair is [string, string] => typeof pair[1] === 'string' && !HOP.has(pair[0]))
  const answer = await fetch(`${bases.get(provider)}${rest}`, {
    method: request.method ?? 'POST', headers, signal: ended.signal, ...(body.length > 0 && { body: Buffer.concat(body) }),
  })
  response.writeHead(answer.status, [...answer.headers].filter(([name]) => !HOP.has(name)).flat())
  let sent = 0
  for await (const piece of answer.body ?? []) {
    response.write(piece)
    sent += piece.length
    if (fault === 'cut' && sent > CUT) return void setImmediate(() => response.destroy())
  }
  response.end()
}

function refuse(response: ServerResponse, status: number, message: string, code: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ error: { message, type: 'invalid_request_error', code } }))
}
