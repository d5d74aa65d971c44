import type { SiteOptions } from './safety/site.ts'

/** What bounds requests. */
export interface Bounds {
  /** Turns of one user that run or wait at a time. */
  readonly turnsPerUser: number
  /** Streams of one user that are open at a time. */
  readonly streamsPerUser: number
  /** Sessions that one user may have. */
  readonly sessionsPerUser: number
  /** Bytes of a request's body. */
  readonly maxBody: number
  /** Characters of a prompt. */
  readonly maxPrompt: number
  /** Milliseconds after which a reader that takes nothing is disconnected. */
  readonly stall: number
  /** Milliseconds between comments in a silent stream. */
  readonly heartbeat: number
  /** Milliseconds that running turns have to finish, when the handler is drained. */
  readonly grace: number
}

/** Options of {@link createHandler}, with all defaults filled in. */
export interface HandlerSettings extends Bounds, SiteOptions {
  /** The path in front of all routes: `/agents`. */
  readonly base: string
  /** Where sessions without a folder of a user's own work. */
  readonly cwd: string
  /** Absolute path of the folder with a workspace for each user. With it a user sees only sessions that begin with their name. */
  readonly workspaces?: string
}

/** Who asks: a name, or nobody that is known. */
export type Authenticate = (request: Request) => string | undefined | Promise<string | undefined>

/** One of these says who may ask. */
export type Access =
  /** The bearer token of the one user. */
  | { readonly token: string }
  /** The bearer token of each user. */
  | { readonly users: Readonly<Record<string, string>> }
  /** The app's own login: gives the user's name. */
  | { readonly authenticate: Authenticate }
  /** Nobody is asked for a token: for an app that nothing but this machine reaches. */
  | { readonly token: false }

/** What a handler is made with: what differs from the defaults, and who gets in. */
export type HandlerOptions = Partial<HandlerSettings> & Access

/** Defaults of the bounds; the config's schema has them from here. */
export const BOUNDS: Bounds = {
  turnsPerUser: 3,
  streamsPerUser: 10,
  sessionsPerUser: 1_000,
  maxBody: 256_000,
  maxPrompt: 100_000,
  stall: 30_000,
  heartbeat: 15_000,
  grace: 30_000,
}

/** Names that only this machine's own programs use. */
export const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]']
