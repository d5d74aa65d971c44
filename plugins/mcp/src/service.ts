import type { ServerState } from './connection.ts'
import type { McpTool } from './toolset.ts'

/** A server, for people and programs. */
export interface McpServer {
  readonly name: string
  readonly state: ServerState
  /** Why it is not running. */
  readonly problem?: string
  /** Names that the model has. */
  readonly tools: readonly string[]
  /** Commands that a prompt can begin with. */
  readonly prompts: readonly string[]
}

/** `ctx.mcp`: the MCP servers and their tools. */
export interface McpService {
  /** All that are configured, whatever their state. */
  servers(): readonly McpServer[]
  /**
   * The tool that a call names, with what its server says of it (`readOnlyHint` and so on); nothing where it is not a
   * server's.
   */
  tool(name: string): McpTool | undefined
}

declare module 'cordis' {
  interface Context {
    mcp: McpService
  }
}
