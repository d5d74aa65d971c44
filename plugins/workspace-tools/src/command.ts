import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf } from '@headrace/files'
import { messageOf } from '@headrace/message'
import { BoundedOutput } from './command-output.ts'
import type { EnvConfig } from './config.ts'
import { WorkspaceError } from './error.ts'
import { endGroup, endWithProcess } from './process-group.ts'
import { TerminalText } from './terminal-text.ts'

export interface CommandOptions {
  readonly shell: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Milliseconds. */
  readonly timeout: number
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly killGrace: number
  /** Characters of output that are kept. */
  readonly maxOutput: number
  readonly signals: readonly AbortSignal[]
}

export interface CommandEnd {
  readonly output: string
  readonly isCut: boolean
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** Why we ended it, where we did. */
  readonly stopped?: 'timeout' | 'cancelled'
  /** True where processes that the command had left running were ended. */
  readonly hadBackground: boolean
}

/** How long output is waited for once the shell has exited: longer only takes a process it left behind, which holds the pipe. */
const DRAIN = 250

/**
 * The shell starts itself once more with both outputs in one pipe, so that their lines keep their order. `--`: a
 * command may begin with `-`.
 */
const BOTH_IN_ONE = 'exec "$0" -c -- "$1" "$0" 2>&1'

/** Runs a command in a process group of its own, without input. Everything it started ends with it. */
export async function runCommand(command: string, options: CommandOptions): Promise<CommandEnd> {
  const child = await start(command, options)
  const id = child.pid as number
  const release = endWithProcess(id)
  const output = new BoundedOutput(options.maxOutput)
  const drained = Promise.all([collect(child.stdout, output), collect(child.stderr, output)])
  const exited = new Promise<Pick<CommandEnd, 'exitCode' | 'signal'>>((resolve) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }))
  })
  const stop = stopper(id, options)
  try {
    const end = await Promise.race([exited, stop.given])
    stop.disarm()
    release()
    await Promise.race([drained, delay(DRAIN, undefined, { ref: false })])
    const hadBackground = await endGroup(id, options.killGrace)
    if (hadBackground) await Promise.race([drained, delay(DRAIN, undefined, { ref: false })])
    const stopped = stop.reason()
    return { output: output.toString(), isCut: output.isCut, ...end, ...(stopped === undefined ? {} : { stopped }), hadBackground }
  } finally {
    child.stdout?.destroy()
    child.stderr?.destroy()
  }
}

async function start(command: string, { shell, cwd, env }: CommandOptions): Promise<ChildProcess> {
  try {
    const child = spawn(shell, ['-c', BOTH_IN_ONE, shell, command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    return child.on('error', () => {}) // A failing kill; the exit tells the rest.
  } catch (error) {
    const code = codeOf(error)
    if (code === 'E2BIG') throw new WorkspaceError('COMMAND_INVALID', 'The command is too long for one call: write it to a file and run that.')
    if (code === 'ENOENT') throw new WorkspaceError('COMMAND_INVALID', `There is no shell ${JSON.stringify(shell)} here; the app sets another one in "shell" of workspace-tools.`)
    throw new WorkspaceError('COMMAND_INVALID', `The command could not be started: ${messageOf(error)}.`)
  }
}

/** Text as it comes, its characters whole: one may be cut in two by the pipe. */
async function collect(stream: Readable | null, output: BoundedOutput): Promise<void> {
  if (stream === null) return
  const decoder = new StringDecoder('utf8')
  const text = new TerminalText((piece) => output.push(piece))
  stream.on('data', (chunk: Buffer) => text.push(decoder.write(chunk)))
  await new Promise<void>((resolve) => stream.once('close', resolve).once('error', () => resolve()))
  text.push(decoder.end())
  text.end()
}

interface Stopper {
  /** Resolves only where the group got SIGKILL and its leader still does not exit. */
  readonly given: Promise<{ readonly exitCode: null; readonly signal: 'SIGKILL' }>
  reason(): CommandEnd['stopped']
  disarm(): void
}

/** Ends the group when the time is up, or when a signal is aborted. */
function stopper(id: number, { timeout, killGrace, signals }: CommandOptions): Stopper {
  let reason: CommandEnd['stopped']
  let giveUp = (_: { exitCode: null; signal: 'SIGKILL' }): void => {}
  const stop = (why: CommandEnd['stopped']): void => {
    if (reason !== undefined) return
    reason = why
    void endGroup(id, killGrace).then(() => delay(DRAIN)).then(() => giveUp({ exitCode: null, signal: 'SIGKILL' }))
  }
  const onAbort = (): void => stop('cancelled')
  const timer = setTimeout(() => stop('timeout'), timeout)
  for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true })
  if (signals.some((signal) => signal.aborted)) onAbort()
  return {
    given: new Promise((resolve) => { giveUp = resolve }),
    reason: () => reason,
    disarm() {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', onAbort)
    },
  }
}

/** A word of a name that says its value is a secret: `OPENAI_API_KEY`, `GITHUB_TOKEN`, `AWS_SECRET_ACCESS_KEY`, `PGPASSWORD`. */
const SECRET = /(?:^|_)(?:API)?KEYS?(?:_|$)|TOKEN|SECRET|PASSWORD|PASSWD|_PWD|PASSPHRASE|CREDENTIAL|_AUTH(?:_CONFIG)?$/i

/**
 * Nobody sits at the terminal of a command: editors take what is there, pagers show all, and who asks for a password is
 * told no. Git commits without a message would wait for an editor until their time is up.
 */
const UNATTENDED: Readonly<Record<string, string>> = {
  EDITOR: 'true', VISUAL: 'true', GIT_EDITOR: 'true', GIT_SEQUENCE_EDITOR: 'true',
  PAGER: 'cat', GIT_PAGER: 'cat', MANPAGER: 'cat', GH_PAGER: 'cat', BAT_PAGER: 'cat', DELTA_PAGER: 'cat', PSQL_PAGER: 'cat', SYSTEMD_PAGER: 'cat', AWS_PAGER: '',
  GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: 'true', SSH_ASKPASS: 'true', SSH_ASKPASS_REQUIRE: 'never', SUDO_ASKPASS: 'true', GCM_INTERACTIVE: 'never', GH_PROMPT_DISABLED: '1',
  PIP_NO_INPUT: '1', DEBIAN_FRONTEND: 'noninteractive', TERM: 'dumb', NO_COLOR: '1',
}

/**
 * What a command sees of our variables: all but those whose names look like secrets. A command's output goes to the
 * model, and from there to a provider and into the log.
 */
export function commandEnv(own: Readonly<Record<string, string | undefined>>, config: EnvConfig, cwd: string): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(own)) {
    if (value !== undefined && (!SECRET.test(name) || config.keep.includes(name))) env[name] = value
  }
  return { ...env, PWD: cwd, ...config.set }
}

/** The same for a command that nobody attends to; what the config keeps or sets stands. */
export function unattendedEnv(env: Readonly<Record<string, string>>, { keep, set }: EnvConfig): Record<string, string> {
  const others = Object.entries(UNATTENDED).filter(([name]) => !keep.includes(name) && !Object.hasOwn(set, name))
  return { ...env, ...Object.fromEntries(others) }
}
