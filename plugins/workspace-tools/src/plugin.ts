import { isAbsolute } from 'node:path'
import type { Context } from 'cordis'
import type {} from '@headrace/agent'
import { Config } from './config.ts'
import { WorkspaceError } from './error.ts'
import { createTools } from './workspace-tools.ts'

export const name = 'workspace-tools'
export const inject = ['tools']
export { Config }

export async function apply(ctx: Context, config: Config): Promise<void> {
  const relative = config.roots.find((root) => !isAbsolute(root))
  if (relative !== undefined) throw new WorkspaceError('CONFIG_INVALID', `workspace-tools: roots must be absolute folders, not ${JSON.stringify(relative)}.`)
  const unloaded = new AbortController()
  ctx.effect(() => () => unloaded.abort())
  for (const tool of createTools(config, unloaded.signal)) ctx.tools.define(tool)
}
