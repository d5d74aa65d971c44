import { existsSync } from 'node:fs'
import { fibersOf } from '@headrace/cordis'
import type { Context } from 'cordis'
import { boot, bootFile, shutDown } from '../base/app.ts'
import { DONE } from '../base/error.ts'
import { type Top, dryTurn, inventoryOf } from '../base/inventory.ts'
import { folderOf } from '../base/store.ts'
import { linesOf } from '../show/inventory.ts'
import type { Terminal } from '../show/terminal.ts'

export interface PluginsOptions {
  /** The file of an app; the usual set without it. */
  readonly app?: string
  readonly cwd?: string
  readonly json?: true
  readonly debug?: true
}

/** `headrace plugins`: what is loaded, what each brings, and what it costs in an agent's first request here. Nothing is sent. */
export async function plugins(options: PluginsOptions, terminal: Terminal): Promise<number> {
  const cwd = folderOf(options.cwd ?? '.')
  const { ctx, entries } = await appOf(options, terminal)
  try {
    const request = ctx.get('agents') === undefined ? undefined : await dryTurn(ctx, cwd)
    const parts = inventoryOf(ctx, entries, request)
    if (options.json) for (const part of parts) terminal.json(part)
    else for (const line of linesOf(parts)) terminal.print(line)
    return DONE
  } finally {
    await shutDown(ctx, terminal)
  }
}

interface App {
  readonly ctx: Context
  readonly entries: readonly Top[]
}

async function appOf({ app, debug }: PluginsOptions, terminal: Terminal): Promise<App> {
  if (app !== undefined) {
    const { ctx, loader } = await bootFile(app, {}, terminal, debug === true)
    return { ctx, entries: loader.entries }
  }
  if (existsSync('cordis.yml')) terminal.note('headrace: this is the usual set; there is a cordis.yml here: headrace plugins --app cordis.yml shows its app')
  const ctx = await boot({}, terminal, debug === true)
  const fibers = fibersOf(ctx).filter((fiber) => fiber.parent.fiber === ctx.fiber)
  return { ctx, entries: fibers.map((fiber) => ({ id: fiber.name, fiber })) }
}

