import type * as client from '@modelcontextprotocol/client'
import type * as stdio from '@modelcontextprotocol/client/stdio'

/** What is used of the MCP SDK. */
export type Sdk = typeof client & typeof stdio

let loading: Promise<Sdk> | undefined

/** The MCP SDK: half a second of work to import, so that it is loaded where the first server is connected, and only here. */
export function loadSdk(): Promise<Sdk> {
  return (loading ??= Promise.all([import('@modelcontextprotocol/client'), import('@modelcontextprotocol/client/stdio')])
    .then(([client, stdio]) => ({ ...client, ...stdio })))
}
