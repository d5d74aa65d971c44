import { fileURLToPath } from 'node:url'
import { check as checkApp, lineOf } from '@headrace/loader'
import { DONE, FAILED } from '../base/error.ts'
import type { Terminal } from '../show/terminal.ts'

/** `headrace check`: reads an app's file, imports its modules and checks their configs. Exit code 1 where something is wrong. */
export async function check(file: string, terminal: Terminal): Promise<number> {
  const problems = await checkApp({ file, fallbacks: [fileURLToPath(import.meta.url)] })
  for (const problem of problems) terminal.warn(lineOf(problem))
  if (problems.length === 0) terminal.print(`ok: ${file}`)
  return problems.length === 0 ? DONE : FAILED
}
