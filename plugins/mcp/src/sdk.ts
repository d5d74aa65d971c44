import type * as client from '@modelcontextprotocol/client'
import type * as stdio from '@modelcontextprotocol/client/stdio'

/** What is used of the MCP SDK. */
export type Sdk = typeof client & typeof stdio

let loading: Promise<Sdk> | undefined

/** The MCP SDK: importing it takes half a second, so it is loaded only here, when the first server is connected. */
export function loadSdk(): Promise<Sdk> {
  return (loading ??= Promise.all([import('@modelcontextprotocol/client'), import('@modelcontextprotocol/client/stdio')])
    .then(([client, stdio]) => ({ ...client, ...stdio })))
}
