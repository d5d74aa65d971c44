import type { Adapter } from '@headrace/agent'
import type { ProviderConfig } from '@headrace/plugin-models'
import { rawServer, use } from '@headrace/testing/adapter'
import { modelInfo } from '@headrace/tokens'
import { LazyConnections, endpointAdapter } from '@headrace/wire'
import { endpointsOf } from '../src/endpoints.ts'

/** A server that answers every request with these events. */
export function streaming(...events: readonly (object | string)[]): Promise<string> {
  return rawServer((_, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(eventText(...events)))
}

export function eventText(...events: readonly (object | string)[]): string {
  return events.map((event) => typeof event === 'string' ? event : `data: ${JSON.stringify(event)}\n\n`).join('')
}

/** The adapter of one endpoint; under a preset's name it takes what that takes. */
export function endpoint(baseURL: string, options: Omit<ProviderConfig, 'baseURL'> & { readonly name?: string } = {}, warn: (message: string) => void = () => {}): Adapter {
  const { name = 'local', ...config } = options
  const [made] = endpointsOf({ presets: false, providers: { [name]: { baseURL, ...config } } }, modelInfo)
  return endpointAdapter(made!, use(new LazyConnections()).get, warn)
}
