import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as delay } from 'node:timers/promises'
import { BoundedOutput } from './command-output.ts'
import { LiveText } from './live-text.ts'
import { endGroup } from './process-group.ts'
import { type SpawnOptions, spawnCommand } from './spawn-command.ts'
import { TerminalText } from './terminal-text.ts'

export interface CommandOptions extends SpawnOptions {
  /** Milliseconds. */
  readonly timeout: number
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly killGrace: number
  /** Characters of output that are kept. */
  readonly maxOutput: number
  readonly signals: readonly AbortSignal[]
  /** Called with the output as it comes. */
  readonly show: (text: string) => void
}

export interface CommandEnd {
  readonly output: string
  readonly isCut: boolean
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** Why we ended it, if we did. */
  readonly stopped?: 'timeout' | 'cancelled'
  /** True where processes that the command had left running were ended. */
  readonly hadBackground: boolean
}

/**
 * How long to wait for output once the shell has exited: it takes longer only where a process left behind holds the
 * pipe.
 */
const DRAIN = 250

/** Runs a command in a process group of its own, without input. Everything it started ends with it. */
export async function runCommand(command: string, options: CommandOptions): Promise<CommandEnd> {
  const { child, id, release } = await spawnCommand(command, options)
  const output = new BoundedOutput(options.maxOutput)
  // Drawings over several lines are right only at the end.
  const drained = collect(child.stdout, new TerminalText((piece) => output.push(piece)), new LiveText(options.show))
  const exited = new Promise<Pick<CommandEnd, 'exitCode' | 'signal'>>((resolve) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }))
  })
  const stop = stopper(id, options)
  try {
    const end = await Promise.race([exited, stop.given])
    stop.disarm()
    await Promise.race([drained, delay(DRAIN, undefined, { ref: false })])
    const hadBackground = await endGroup(id, options.killGrace)
    release()
    if (hadBackground) await Promise.race([drained, delay(DRAIN, undefined, { ref: false })])
    const stopped = stop.reason()
    return { output: output.toString(), isCut: output.isCut, ...end, ...(stopped === undefined ? {} : { stopped }), hadBackground }
  } finally {
    child.stdout.destroy()
  }
}

/** Decodes text as it comes: a character may be split by the pipe. */
export async function collect(stream: Readable, ...texts: Pick<TerminalText, 'push' | 'end'>[]): Promise<void> {
  const decoder = new StringDecoder('utf8')
  const push = (piece: string): void => { for (const text of texts) text.push(piece) }
  stream.on('data', (chunk: Buffer) => push(decoder.write(chunk)))
  await new Promise<void>((resolve) => stream.once('close', resolve).once('error', () => resolve()))
  push(decoder.end())
  for (const text of texts) text.end()
}

interface Stopper {
  /** Resolves only where the leader does not exit even after SIGKILL. */
  readonly given: Promise<{ readonly exitCode: null; readonly signal: 'SIGKILL' }>
  reason(): CommandEnd['stopped']
  disarm(): void
}

/** Ends the group when the time is up, or when the signal is aborted. */
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
