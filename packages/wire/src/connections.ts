import type { Connections } from './http.ts'

/** Connections are made with the first request: loading their library takes longer than mapping a request. */
export class LazyConnections {
  private made: Promise<Connections> | undefined

  /** The connections, made when they are first used. */
  readonly get = (): Promise<Connections> => (this.made ??= import('./http.ts').then(({ Connections }) => new Connections()))

  /** Closes all connections. */
  async close(): Promise<void> {
    const { made } = this
    this.made = undefined
    await (await made)?.close()
  }
}
