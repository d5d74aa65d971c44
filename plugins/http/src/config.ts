import { type ConfigProblem, checked, strict } from '@headrace/config'
import z from 'schemastery'
import { BOUNDS, type Bounds } from './options.ts'
import { isLoopback, isToken } from './safety/tokens.ts'

/** Config of the plugin. */
export interface Config extends Bounds {
  /** The address to listen at. Others than this machine's own are refused without a token. */
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** The bearer token of the one user. Default: that of {@link tokenFile}. `false` asks for none. */
  readonly token?: string | false
  /** The file that keeps the token, mode 0600; it is made, and the token printed, where there is none. */
  readonly tokenFile?: string
  /** The bearer token of each user, in place of `token`. */
  readonly users?: Readonly<Record<string, string>>
  /** Absolute path of the folder that has a workspace for each user; needed with `users`. */
  readonly workspaces?: string
  /** Where sessions work, without `workspaces`. Default: the process's folder. */
  readonly cwd?: string
  /** Names that a `Host` header may have, beside those of this machine. */
  readonly hosts: readonly string[]
  /** Origins of pages that may ask, exact. */
  readonly origins: readonly string[]
  /** The path in front of all routes. */
  readonly base: string
  /** Milliseconds that open connections have to end, when the server stops. */
  readonly closing: number
}

const milliseconds = (value: number, words: string): z<number, number> => z.natural().default(value).description(words)

export const Config: z<Partial<Config>, Config> = checked(strict(z.object({
  host: z.string().default('127.0.0.1').description('The address to listen at. Others than this machine\'s own are refused without a token.'),
  port: z.natural().max(65_535).default(8787).description('0 takes any free port.'),
  // Checked below: errors must not quote these values.
  token: z.any().description('The bearer token of the one user; false asks for none, on this machine only. Default: that of tokenFile.'),
  tokenFile: z.string().description('The file that keeps the token, mode 0600; made where there is none.'),
  users: z.any().description('The bearer token of each user, in place of token.'),
  workspaces: z.string().description('Absolute path of the folder that has a workspace for each user.'),
  cwd: z.string().description('Where sessions work, without workspaces.'),
  hosts: z.array(z.string()).default([]).description('Names that a Host header may have, beside those of this machine.'),
  origins: z.array(z.string()).default([]).description('Origins of pages that may ask, such as https://app.example.com.'),
  base: z.string().default('').description('The path in front of all routes, such as /agents.'),
  turnsPerUser: z.natural().min(1).default(BOUNDS.turnsPerUser).description('Turns of one user that run or wait at a time.'),
  streamsPerUser: z.natural().min(1).default(BOUNDS.streamsPerUser).description('Streams of one user that are open at a time.'),
  sessionsPerUser: z.natural().min(1).default(BOUNDS.sessionsPerUser).description('Sessions that one user may have.'),
  maxBody: z.natural().default(BOUNDS.maxBody).description('Bytes of a request\'s body.'),
  maxPrompt: z.natural().default(BOUNDS.maxPrompt).description('Characters of a prompt.'),
  stall: milliseconds(BOUNDS.stall, 'Milliseconds after which a reader that takes nothing is disconnected.'),
  heartbeat: z.natural().min(1).default(BOUNDS.heartbeat).description('Milliseconds between comments in a silent stream.'),
  grace: milliseconds(BOUNDS.grace, 'Milliseconds that running turns have to finish, when the server stops.'),
  closing: milliseconds(2_000, 'Milliseconds that open connections have to end, when the server stops.'),
})), problemsOfAccess) as unknown as z<Partial<Config>, Config>

/** Who may ask, and from where. It quotes no token. */
function problemsOfAccess(given: unknown): readonly ConfigProblem[] {
  const { token, users, workspaces, host = '127.0.0.1' } = given as Partial<Config>
  const problems: ConfigProblem[] = []
  if (token !== undefined && token !== false && !isToken(token)) problems.push({ path: ['token'], message: 'must be a text of 8 to 200 letters, digits and ._~+/-, or false' })
  if (token !== undefined && users !== undefined) problems.push({ path: ['token'], message: 'and users exclude each other' })
  if (users !== undefined && workspaces === undefined) problems.push({ path: ['workspaces'], message: 'is missing: users need a folder each' })
  if (token === false && !isLoopback(host)) problems.push({ path: ['host'], message: 'can be reached from other machines, so it needs a token' })
  return problems
}
