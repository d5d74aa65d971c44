import { isAbsolute } from 'node:path'
import { strict } from '@headrace/config'
import { isSessionId } from '@headrace/session'
import z from 'schemastery'

/** Config of the plugin `agents-http`. */
export interface Config {
  /** The bearer token of each user. Names consist of a-z, 0-9, `-` and `_`. */
  readonly users: Readonly<Record<string, string>>
  /** Absolute path of the folder that has a workspace for each user. */
  readonly workspaces: string
  /** Tools that ask for permission and get it: they must reach only the user's own data. */
  readonly allow: readonly string[]
  /** Turns of one user that run or wait at a time. */
  readonly turnsPerUser: number
  /** Streams of events of one user that are open at a time. */
  readonly streamsPerUser: number
  /** Bytes of a request's body. */
  readonly maxBody: number
  /** Characters of a prompt. */
  readonly maxPrompt: number
  /** Pieces of an answer that are buffered for one slow reader; it gets what it missed from the log, as a whole. */
  readonly pieces: number
  /** Milliseconds after which a reader that reads nothing is disconnected. */
  readonly stall: number
  /** Milliseconds between keep-alives in a silent stream. */
  readonly heartbeat: number
  /** Milliseconds after which an unused session is closed; it is resumed when it is needed. */
  readonly idle: number
  /** Milliseconds that running turns have to finish, when the app shuts down. */
  readonly grace: number
}

export const Config = strict(z.object({
  // Checked below: errors must not quote these values.
  users: z.any().description('The bearer token of each user.'),
  workspaces: z.string().required().description('Absolute path of the folder that has a workspace for each user.'),
  allow: z.array(z.string()).default(['write', 'edit']).description('Tools that ask and are allowed.'),
  turnsPerUser: z.natural().min(1).default(3).description('Turns of one user that run or wait at a time.'),
  streamsPerUser: z.natural().min(1).default(10).description('Streams of events of one user that are open at a time.'),
  maxBody: z.natural().default(256_000).description('Bytes of a request\'s body.'),
  maxPrompt: z.natural().default(100_000).description('Characters of a prompt.'),
  pieces: z.natural().default(1_000).description('Pieces of an answer that wait for one slow reader.'),
  stall: z.natural().default(30_000).description('Milliseconds after which a reader that takes nothing is cut off.'),
  heartbeat: z.natural().min(1).default(15_000).description('Milliseconds between signs of life in a silent stream.'),
  idle: z.natural().default(600_000).description('Milliseconds after which a session that nobody uses is given back.'),
  grace: z.natural().default(30_000).description('Milliseconds that running turns have to finish in.'),
}) as z<Partial<Config> & Pick<Config, 'users' | 'workspaces'>, Config>)

/** @throws TypeError that says what is wrong and never quotes a token */
export function checkConfig({ users, workspaces }: Config): void {
  if (!isAbsolute(workspaces)) throw new TypeError('agents-http: workspaces must be an absolute path')
  if (typeof users !== 'object' || users === null || Object.keys(users).length === 0) throw new TypeError('agents-http: users must give the token of at least one user, as in { alice: "…" }')
  for (const [user, token] of Object.entries(users)) {
    if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(user) || !isSessionId(`${user}.0`)) throw new TypeError(`agents-http: ${JSON.stringify(user.slice(0, 80))} cannot be a user; use 1 to 64 of a-z, 0-9, "-" and "_"`)
    if (typeof token !== 'string' || !/^[\w.~+/-]{8,}=*$/.test(token)) throw new TypeError(`agents-http: the token of user ${user} must be a text of at least 8 letters, digits and ._~+/-`)
  }
  if (new Set(Object.values(users)).size < Object.keys(users).length) throw new TypeError('agents-http: two users have the same token')
}
