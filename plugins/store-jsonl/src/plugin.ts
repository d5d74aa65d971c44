import { join } from 'node:path'
import type {} from '@headrace/agent'
import { stateHome } from '@headrace/files'
import type { Context } from 'cordis'
import { strict } from '@headrace/config'
import z from 'schemastery'
import { JsonlStore } from './store.ts'

export const name = 'store-jsonl'

export const inject = ['sessions']

/** Config of the plugin. */
export interface Config {
  /** The folder of the logs. Default: `$XDG_STATE_HOME/headrace/sessions`, else `~/.local/state/headrace/sessions`. */
  readonly directory: string
  /** `barrier`: acknowledged data survives a power cut (L17). `never`: it survives a kill of the process only. */
  readonly fsync: 'barrier' | 'never'
}

export const Config: z<Partial<Config>, Config> = strict(z.object({
  directory: z.string().description('The folder of the logs. Default: $XDG_STATE_HOME/headrace/sessions.'),
  fsync: z.union(['barrier', 'never'] as const).default('barrier').description('When a log is synced: at every barrier (L17), or never.'),
}))

export async function apply(ctx: Context, { directory = defaultDirectory(), fsync }: Config): Promise<void> {
  ctx.sessions.store(new JsonlStore({ directory, fsync }))
}

/** The default place of sessions. */
export function defaultDirectory(): string {
  return join(stateHome(), 'headrace', 'sessions')
}
