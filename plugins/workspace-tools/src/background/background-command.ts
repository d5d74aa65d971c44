import { setTimeout as delay } from 'node:timers/promises'
import { collect } from '../command.ts'
import { BoundedOutput } from '../command-output.ts'
import { endGroup } from '../process-group.ts'
import { type SpawnedCommand, spawnCommand } from '../spawn-command.ts'
import type { SpawnOptions } from '../spawn-command.ts'
import { TerminalText } from '../terminal-text.ts'
import { OutputFile } from './output-file.ts'

/** When a background command wakes the agent: when it ends, or with output too. */
export type Wake = 'end' | 'output'

/** How a command ended. */
export interface CommandExit {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** It was stopped on purpose. */
  readonly isStopped: boolean
}

export interface BackgroundOptions extends SpawnOptions {
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly killGrace: number
  /** Characters of output that one call returns. */
  readonly maxOutput: number
  /** Where its output is kept. */
  readonly folder: string
}

/** How long to wait for output once the command has ended (milliseconds). */
const DRAIN = 250

/** A command that runs while the agent goes on. */
export class BackgroundCommand {
  readonly id: string
  readonly command: string
  readonly file: OutputFile
  /** Resolves when it has ended, its whole group, and all its output is in the file. Never rejects. */
  readonly over: Promise<CommandExit>
  exit: CommandExit | undefined
  /** Called with new output, and once when it has ended. */
  onChange: () => void = () => undefined
  /** There is output that was not read yet. */
  hasNews = false
  /** A call back told the agent of its newest state. */
  isTold = false
  private readonly spawned: SpawnedCommand
  private readonly options: BackgroundOptions
  private unread: BoundedOutput
  private readonly text = new TerminalText((piece) => this.take(piece), 1)
  private isStopped = false

  private constructor(id: string, command: string, spawned: SpawnedCommand, options: BackgroundOptions) {
    this.id = id
    this.command = command
    this.spawned = spawned
    this.options = options
    this.unread = new BoundedOutput(options.maxOutput)
    this.file = new OutputFile(options.folder, id)
    this.over = this.run()
  }

  /** @throws WorkspaceError where it cannot be started */
  static async start(id: string, command: string, options: BackgroundOptions): Promise<BackgroundCommand> {
    return new BackgroundCommand(id, command, await spawnCommand(command, options), options)
  }

  /** The output since the last read. */
  look(): string {
    this.text.flush()
    const output = this.unread.toString()
    this.unread = new BoundedOutput(this.options.maxOutput)
    this.hasNews = false
    this.isTold = false
    return output
  }

  /** Ends it, with all that it started: SIGTERM, then SIGKILL. */
  async stop(): Promise<void> {
    await endGroup(this.stopping(), this.options.killGrace)
    await this.over
  }

  /** Marks it as stopped on purpose; returns its process group, which the caller ends. */
  stopping(): number {
    if (!this.exit) this.isStopped = true
    return this.spawned.id
  }

  private async run(): Promise<CommandExit> {
    const { child, id, release } = this.spawned
    const drained = collect(child.stdout, this.text)
    const [exitCode, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => child.once('exit', (...end) => resolve(end)))
    // Processes that it left running in its group end with it, as in the foreground.
    await endGroup(id, this.options.killGrace)
    release()
    await Promise.race([drained, delay(DRAIN, undefined, { ref: false })])
    child.stdout.destroy()
    await this.file.end()
    this.exit = { exitCode, signal, isStopped: this.isStopped }
    this.onChange()
    return this.exit
  }

  private take(text: string): void {
    if (text === '') return
    this.unread.push(text)
    this.file.write(text)
    const isFirst = !this.hasNews
    this.hasNews = true
    if (isFirst) this.onChange()
  }
}
