import { fileURLToPath } from 'node:url'
import { check as checkApp, lineOf } from '@headrace/loader'
import { DONE, FAILED } from '../base/error.ts'
import type { Terminal } from '../show/terminal.ts'

/** What our packages provide; another module may provide anything. */
const PROVIDED: Readonly<Record<string, readonly string[]>> = {
  '@headrace/agent': ['agents', 'llm', 'sessions', 'system', 'tools'],
  '@headrace/briefing': ['briefing'],
  '@headrace/plugin-agents-md': ['agentsMd'],
  '@headrace/plugin-compaction': ['compaction'],
  '@headrace/plugin-mcp': ['mcp'],
  '@headrace/plugin-skills': ['skills'],
  ...Object.fromEntries(
    ['ai-sdk', 'approval', 'environment', 'models', 'retry', 'store-jsonl', 'store-sqlite', 'subagent', 'tasks', 'workspace-tools'].map((name) => [`@headrace/plugin-${name}`, []]),
  ),
  'headrace/instructions': [],
  'headrace/model': [],
  'headrace': ['agents', 'llm', 'sessions', 'system', 'tools', 'briefing', 'agentsMd', 'compaction', 'mcp', 'skills'],
}

/** `headrace check`: reads an app's file, imports its modules and checks their configs. Exit code 1 where something is wrong. */
export async function check(file: string, terminal: Terminal): Promise<number> {
  const problems = await checkApp({ file, fallbacks: [fileURLToPath(import.meta.url)], provided: PROVIDED })
  for (const problem of problems) terminal.warn(lineOf(problem))
  if (problems.length === 0) terminal.print(`ok: ${file}`)
  return problems.length === 0 ? DONE : FAILED
}
