import { strict } from '@headrace/config'
import type { Context } from 'cordis'
import z from 'schemastery'
import { serve } from './door.ts'
import { type Wire, openWire } from './wire.ts'

export const name = 'acp'
export const inject = ['agents', 'desk', 'llm', 'sessions']

/** Config of the plugin, with all defaults filled in. */
export interface Config {
  /** Models that the client can choose, `provider/name`, beside the one in use. */
  readonly models: readonly string[]
}

export const Config = strict(z.object({
  models: z.array(z.string()).default([]).description('Models that the client can choose, provider/name, beside the one in use.'),
})) as unknown as z<Partial<Config>, Config>

/**
 * Serves the client at the other end of stdin and stdout, or of a line that is open already: {@link openWire} answers `initialize` before
 * there is an app.
 */
export async function apply(ctx: Context, given: Partial<Config> = {}, wire?: Wire): Promise<void> {
  const { models } = Config(given)
  serve(ctx, wire ?? openWire({ input: process.stdin, output: process.stdout, version: '0.1.0' }), { models })
}

/** A plugin of Cordis. */
export interface OnWire {
  readonly name: string
  readonly inject: readonly string[]
  readonly Config: typeof Config
  /** Serves the client. */
  apply(ctx: Context, config?: Partial<Config>): Promise<void>
}

/** The plugin on a line that is open already. */
export function onWire(wire: Wire): OnWire {
  return { name, inject, Config, apply: (ctx, config) => apply(ctx, config, wire) }
}
