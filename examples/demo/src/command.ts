import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { type Project, plainEnv } from './project.ts'

/** The `headrace` command as it is installed. */
export const HEADRACE = join(dirname(createRequire(import.meta.url).resolve('headrace/package.json')), 'bin', 'headrace.js')

/**
 * The environment of a command in a project: its own folder for logs, this Node as `node`, and no model of the user's.
 */
export function envOf(project: Project, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const { HEADRACE_MODEL: _model, HEADRACE_BASE_URL: _url, ...env } = plainEnv()
  return { ...env, XDG_STATE_HOME: project.state, PATH: `${dirname(process.execPath)}${delimiter}${env.PATH ?? ''}`, ...more }
}

/** Starts `headrace` in a project. By default it shares our stdio. */
export function startHeadrace(project: Project, args: readonly string[], { stdio = 'inherit', env }: { readonly stdio?: 'inherit' | 'pipe'; readonly env?: NodeJS.ProcessEnv } = {}): ChildProcess {
  return spawn(process.execPath, [HEADRACE, ...args], { cwd: project.cwd, env: envOf(project, env), stdio: ['ignore', stdio, stdio] })
}

/** How it ended: its exit code, or the signal that killed it. */
export function ended(child: ChildProcess): Promise<number | NodeJS.Signals> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(code ?? signal ?? 1))
  })
}
