import { runCommand } from '../src/cli/program.ts'
import { type Sink, Terminal } from '../src/cli/show/terminal.ts'
import type { Ended } from './command.ts'

export interface Surroundings {
  readonly cwd: string
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>
}

let isRunning = false

/**
 * Runs a command line in this process, on the sources, where and as a process of its own would. One at a time: folder and environment
 * are those of the whole process.
 */
export async function runHere(args: readonly string[], { cwd, env }: Surroundings): Promise<Ended> {
  if (isRunning) throw new Error('one command at a time runs in this process: start the other one')
  isRunning = true
  const before: Surroundings = { cwd: process.cwd(), env: { ...process.env } as Record<string, string> }
  const said = { out: '', err: '' }
  const sink = (name: 'out' | 'err'): Sink => {
    const stream = { write: (text: string): boolean => ((said[name] += text), true), on: () => stream }
    return stream as unknown as Sink
  }
  surround({ cwd, env })
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
  // Nothing is piped into it.
  Object.defineProperty(process, 'stdin', { value: { isTTY: true }, configurable: true })
  try {
    const code = await runCommand(args, new Terminal(sink('out'), sink('err'), process.env))
    return { code, ...said }
  } finally {
    Object.defineProperty(process, 'stdin', stdin)
    surround(before)
    isRunning = false
  }
}

function surround({ cwd, env }: Surroundings): void {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) if (!(name in env) && !name.startsWith('VITEST')) delete process.env[name]
  Object.assign(process.env, env)
}
