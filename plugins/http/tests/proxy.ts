import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

/** A TCP proxy that pulls the plug once, in mid-stream. */
export class Proxy {
  /** Where it leads; a server that was started again has another port. */
  target: string
  /** Bytes that it has passed on to clients. */
  passed = 0
  /** Bytes that came from clients. */
  sent = 0
  /** Called where the plug is pulled, before anybody notices. */
  onCut: () => void = () => undefined
  private cutAt = Infinity
  private readonly side: 'server' | 'client'
  private readonly sockets = new Set<Socket>()
  private port = 0

  private constructor(target: string, side: 'server' | 'client') {
    this.target = target
    this.side = side
  }

  /** @param cutAt bytes after which the connection is cut, once: of what the server answers, or of what the client sends */
  static async to(target: string, cutAt = Infinity, side: 'server' | 'client' = 'server'): Promise<Proxy> {
    const proxy = new Proxy(target, side)
    proxy.cutAt = cutAt
    const server = createServer((socket) => proxy.pass(socket))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    proxy.port = (server.address() as AddressInfo).port
    onTestFinished(async () => {
      for (const socket of proxy.sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    })
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get isCut(): boolean {
    return this.cutAt === -1
  }

  /** Cuts everything that is open. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy()
  }

  private pass(client: Socket): void {
    const { hostname, port } = new URL(this.target)
    const server = connect(Number(port), hostname)
    for (const [socket, other] of [[client, server], [server, client]] as const) {
      this.sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        this.sockets.delete(socket)
        other.destroy()
      })
    }
    this.pipe(server, client, 'server')
    this.pipe(client, server, 'client')
  }

  private pipe(from: Socket, to: Socket, side: 'server' | 'client'): void {
    from.on('data', (data: Buffer) => {
      const before = side === 'server' ? this.passed : this.sent
      const left = side === this.side && this.cutAt >= 0 ? this.cutAt - before : Infinity
      const part = left < data.length ? data.subarray(0, left) : data
      if (side === 'server') this.passed += part.length
      else this.sent += part.length
      if (part.length === data.length) return void to.write(part)
      this.cutAt = -1
      this.onCut()
      // What was passed on arrives before the end does.
      to.write(part, () => {
        from.destroy()
        to.destroySoon()
      })
    })
  }
}
