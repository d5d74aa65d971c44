import type { Connections } from './http.ts'

/** Connections that are made with the first request: their library takes longer to load than a request to map. */
export class LazyConnections {
  private made: Promise<Connections> | undefined

  /** The connections, made when they are first used. */
  readonly get = (): Promise<Connections> => (this.made ??= import('./http.ts').then(({ Connections }) => new Connections()))

  /** Ends every connection. */
  async close(): Promise<void> {
    const { made } = this
    this.made = undefined
    await (await made)?.close()
  }
}
