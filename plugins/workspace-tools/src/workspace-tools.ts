import { TOOL_NAMES } from './config.ts'
import type { Config, ToolName } from './config.ts'
import { createBash } from './tools/bash.ts'
import { createEdit } from './tools/edit.ts'
import { createGlob } from './tools/glob.ts'
import { createGrep } from './tools/grep.ts'
import { createList } from './tools/list.ts'
import { createRead } from './tools/read.ts'
import type { WorkspaceTool } from './tools/tool.ts'
import { createWrite } from './tools/write.ts'

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
  }
  return TOOL_NAMES.filter((name) => config.tools.includes(name)).map((name) => create[name]())
}
