import { isAbsolute } from 'node:path'
import type { Context } from 'cordis'
import type {} from '@headrace/agent'
import type {} from '@headrace/briefing'
import { backgroundTopic, commandsOf } from './background/background-commands.ts'
import { Config, TOOL_NAMES, type ToolName } from './config.ts'
import { WorkspaceError } from './error.ts'
import { createBackground } from './tools/background.ts'
import { createBash } from './tools/bash.ts'
import { createEdit } from './tools/edit.ts'
import { createGlob } from './tools/glob.ts'
import { createGrep } from './tools/grep.ts'
import { createList } from './tools/list.ts'
import { createRead } from './tools/read.ts'
import type { WorkspaceTool } from './tools/tool.ts'
import { createWrite } from './tools/write.ts'

export const name = 'workspace-tools'
export const inject = ['tools']
export { Config }

export async function apply(ctx: Context, config: Config): Promise<void> {
  const relative = config.roots.find((root) => !isAbsolute(root))
  if (relative !== undefined) throw new WorkspaceError('CONFIG_INVALID', `workspace-tools: roots must be absolute folders, not ${JSON.stringify(relative)}.`)
  const unloaded = new AbortController()
  ctx.effect(() => () => unloaded.abort())
  for (const tool of createTools(config, unloaded.signal)) ctx.tools.define(tool)
  ctx.on('background/running', (agent) => commandsOf(agent).running())
  if (config.tools.includes('background')) tellBackground(ctx)
}

/** Tells the model the state of its commands, where the app has topics, also where they are loaded later. */
function tellBackground(ctx: Context): void {
  let close: (() => void) | undefined
  const tell = (): void => {
    close?.()
    close = ctx.get('briefing')?.topic({
      key: 'background', content: backgroundTopic,
      changed: (text) => text,
      removed: () => 'No command runs in the background any more.',
    })
  }
  tell()
  ctx.on('internal/service', (service) => { if (service === 'briefing') tell() })
}

/**
 * The tools that a config asks for, for an app that registers them itself.
 *
 * @param config as `Config({ … })` gives it
 * @param unloaded ends running commands when it is aborted
 */
export function createTools(config: Config, unloaded: AbortSignal): WorkspaceTool[] {
  const create: Readonly<Record<ToolName, () => WorkspaceTool>> = {
    read: () => createRead(config),
    write: () => createWrite(config),
    edit: () => createEdit(config),
    list: () => createList(config),
    glob: () => createGlob(config),
    grep: () => createGrep(config),
    bash: () => createBash(config, unloaded),
    background: () => createBackground(config),
  }
  return TOOL_NAMES.filter((name) => config.tools.includes(name)).map((name) => create[name]())
}
