import { strict } from '@headrace/config'
import z from 'schemastery'

/** Which calls ask a person first: all, those of tools without `readOnlyHint`, or none. */
export type AskRule = 'always' | 'writes' | 'never'

/** Config of the plugin. */
export interface Config {
  /**
   * Servers by name, as in other MCP clients: `command, args, env, cwd` or `url, headers, type`. Each is checked by
   * itself.
   */
  readonly mcpServers: Record<string, unknown>
  /**
   * A file with `mcpServers`, e.g. `.mcp.json`: absolute, below `~/`, or relative to the process' folder. Servers of
   * the config take precedence.
   */
  readonly file?: string
  /** Which calls ask. */
  readonly ask: AskRule
  /** Milliseconds that an agent waits for servers that are starting, counted from their start. */
  readonly firstWait: number
  /** Milliseconds that a start may take, until the server has sent its lists. */
  readonly connectTimeout: number
  /** Bytes of one message of a server. */
  readonly maxMessage: number
  /** Most tools of one server. */
  readonly maxTools: number
  /** Characters of a tool's description. */
  readonly maxDescription: number
  /** Characters of a server's instructions. */
  readonly maxInstructions: number
  /** Characters of the content of a reference or a prompt. */
  readonly maxOutput: number
}

const size = (value: number, min: number): z<number> => z.natural().min(min).default(value)

export const Config: z<Partial<Config>, Config> = strict(z.object({
  mcpServers: z.dict(z.any().role('secret')).default({}).description('Servers by name: command, args, env, cwd, or url, headers, type.'),
  file: z.string().description('A file with mcpServers, such as .mcp.json.'),
  ask: z.union(['always', 'writes', 'never'] as const).default('always').description('Which calls ask a person first.'),
  firstWait: size(4_000, 0).description('Milliseconds that an agent waits for servers that are starting.'),
  connectTimeout: size(60_000, 1).description('Milliseconds that the start of a server may take.'),
  maxMessage: size(16_000_000, 1_000).description('Bytes of one message of a server.'),
  maxTools: size(500, 0).description('Tools that one server may have.'),
  maxDescription: size(4_000, 10).description('Characters of a tool\'s description.'),
  maxInstructions: size(4_000, 10).description('Characters of a server\'s instructions.'),
  maxOutput: size(50_000, 100).description('Characters of what a reference or a prompt brings.'),
}))
