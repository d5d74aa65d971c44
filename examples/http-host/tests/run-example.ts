import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** How an example's process ended, and what it said. */
export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly cwd?: string
  /** For `XDG_STATE_HOME`. */
  readonly state: string
  readonly args?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

export const mainOf = (example: string): string => fileURLToPath(new URL(`../../${example}/lib/main.js`, import.meta.url))

/** Our variables without a model of the person's own, and without the app's. */
export function plainEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(HEADRACE|HOST|XDG)_/.test(name)))
}

/** Runs an example as it was built, in a process of its own, to its end. */
export function runExample(example: string, { cwd = process.cwd(), state, args = [], env = {} }: RunOptions): Promise<Ran> {
  const child = spawn(process.execPath, [mainOf(example), ...args], { cwd, env: { ...plainEnv(), XDG_STATE_HOME: state, XDG_CONFIG_HOME: state, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => { out += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { err += text })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })))
}
