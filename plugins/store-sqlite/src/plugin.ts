import { join } from 'node:path'
import type {} from '@headrace/agent'
import { stateHome } from '@headrace/files'
import type { Context } from 'cordis'
import { strict } from '@headrace/config'
import z from 'schemastery'
import { BUSY_TIMEOUT, SqliteStore } from './store.ts'

export const name = 'store-sqlite'

export const inject = ['sessions']

/** Config of the plugin. */
export interface Config {
  /** The database. Default: `$XDG_STATE_HOME/headrace/sessions.sqlite`, else `~/.local/state/headrace/sessions.sqlite`. */
  readonly file: string
  /** `barrier`: acknowledged data survives a power cut (L17). `never`: it survives a kill of the process only. */
  readonly fsync: 'barrier' | 'never'
  /** How long to wait while another process writes, in milliseconds; this process is blocked meanwhile. */
  readonly busyTimeout: number
}

export const Config: z<Partial<Config>, Config> = strict(z.object({
  file: z.string().description('The database. Default: $XDG_STATE_HOME/headrace/sessions.sqlite.'),
  fsync: z.union(['barrier', 'never'] as const).default('barrier').description('When the log is synced: at every barrier (L17), or never.'),
  busyTimeout: z.natural().default(BUSY_TIMEOUT).description('Milliseconds to wait while another process writes.'),
}))

export async function* apply(
  ctx: Context,
  { file = defaultFile(), fsync, busyTimeout }: Config,
): AsyncGenerator<() => Promise<void>, void, void> {
  const store = new SqliteStore({ file, fsync, busyTimeout })
  yield () => store.close()
  await store.open()
  ctx.sessions.store(store)
}

/** The default place of sessions. */
export function defaultFile(): string {
  return join(stateHome(), 'headrace', 'sessions.sqlite')
}
