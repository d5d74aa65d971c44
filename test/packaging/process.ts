import { spawn } from 'node:child_process'

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** Milliseconds, after which it is killed and `code` is null. Default: two minutes. */
  readonly timeout?: number
}

/** What npm and vitest tell the programs they run, and what would reach a real model. */
const ours = /^(npm_(lifecycle|package|command)|npm_config_(local_prefix|loglevel)|NODE_(ENV|OPTIONS|PATH)$|VITEST|HEADRACE_|.*_API_KEY$)/

/** Runs a program to its end, in a stranger's environment. */
export function run(command: string, args: readonly string[], { cwd, env = {}, timeout = 120_000 }: RunOptions): Promise<Outcome> {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)))
  const child = spawn(command, args, { cwd, env: { ...inherited, ...env }, timeout, killSignal: 'SIGKILL', stdio: ['ignore', 'pipe', 'pipe'] })
  return new Promise((resolve, reject) => {
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** As `run`, for what must succeed. @throws Error with its output otherwise */
export async function succeed(command: string, args: readonly string[], options: RunOptions): Promise<Outcome> {
  const outcome = await run(command, args, options)
  if (outcome.code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${outcome.code}\n${outcome.stdout}\n${outcome.stderr}`)
  return outcome
}
