import type { Agent } from '@headrace/agent'
import { cutAfter, shownName } from '@headrace/files'
import { WorkspaceError } from '../error.ts'
import { endGroups } from '../process-group.ts'
import { type LostCommand, lostCommands, lostText } from './lost-commands.ts'
import { BackgroundCommand, type BackgroundOptions, type CommandExit, type Wake } from './background-command.ts'
import { outputFolder, outputsIn, sweepOutputs } from './output-file.ts'

/** Commands of one agent that run at once. */
const MAX_RUNNING = 20
/** Milliseconds between SIGTERM and SIGKILL when the agent ends; the agent waits that long. */
const LAST_GRACE = 500
/** Characters of a command where it is named. */
const MAX_NAMED = 120
const agents = new WeakMap<object, BackgroundCommands>()

/** The background commands of an agent. They end with its life. */
export function commandsOf(agent: Pick<Agent, 'session'>): BackgroundCommands {
  let commands = agents.get(agent.session)
  if (!commands) agents.set(agent.session, (commands = new BackgroundCommands(agent)))
  return commands
}

/** The topic's text: as the tool lists them, but for what a call back has told. */
export function backgroundTopic(agent: Pick<Agent, 'session'>): string | undefined {
  return shownStates(commandsOf(agent).states('untold'))
}

/** Commands that are gone, that run, and that ended without having been read. */
export function backgroundState(agent: Pick<Agent, 'session'>): string | undefined {
  return shownStates(commandsOf(agent).states('all'))
}

function shownStates(lines: readonly string[]): string | undefined {
  return lines.length === 0 ? undefined : `Commands in the background:\n${lines.map((line) => `- ${line}`).join('\n')}`
}

export interface StartOptions extends Omit<BackgroundOptions, 'folder'> {
  readonly agent: Agent
  /** Aborted when the plugin goes. */
  readonly unloaded: AbortSignal
}

/** A command that runs in the background of an agent, as a host sees it. */
export interface RunningCommand {
  readonly id: string
  readonly command: string
  /** Whether it wakes the agent, and when. */
  readonly wake?: Wake
  /** Resolves when it has ended, and has woken the agent. */
  readonly over: Promise<unknown>
}

declare module 'cordis' {
  interface Events {
    /** Asks for the commands that run in the background of an agent: a host that ends it may wait for them, or say that they end. */
    'background/running'(agent: Agent): readonly RunningCommand[] | undefined
  }
}

/** See {@link commandsOf}. */
export class BackgroundCommands {
  readonly folder: string
  private readonly commands = new Map<string, BackgroundCommand>()
  private readonly wakes = new Map<string, Wake>()
  private readonly lost: Map<string, LostCommand>
  private isBound = false
  private next: number | undefined
  /** The highest number of a command that the model may still speak of: no other gets it. */
  private readonly highest: number

  constructor(agent: Pick<Agent, 'session'>) {
    this.folder = outputFolder(agent.session.id)
    // Read now, before the agent has commands of its own.
    this.lost = new Map(lostCommands(agent))
    this.highest = Math.max(0, ...[...this.lost.keys()].map((id) => Number(id.slice(1))))
  }

  get(id: string): BackgroundCommand | undefined {
    return this.commands.get(id)
  }

  /** @throws WorkspaceError where it cannot be started, or too many run */
  async start(command: string, wake: Wake | undefined, { agent, unloaded, ...options }: StartOptions): Promise<BackgroundCommand> {
    const running = [...this.commands.values()].filter(({ exit }) => !exit)
    if (running.length >= MAX_RUNNING) throw new WorkspaceError('COMMAND_INVALID', `${MAX_RUNNING} commands run in the background already: ${running.map(({ id }) => id).join(', ')}; stop one first.`)
    this.bind(agent, unloaded)
    void sweepOutputs()
    this.next ??= Math.max(this.highest, ...outputsIn(this.folder))
    const started = await BackgroundCommand.start(`b${++this.next}`, command, { ...options, folder: this.folder })
    this.commands.set(started.id, started)
    if (wake) {
      this.wakes.set(started.id, wake)
      started.onChange = () => wakeFor(started, wake, agent)
    }
    return started
  }

  /** Ends them with the agent: on `dispose`, `park`, and the unload of the plugin that made it. */
  private bind(agent: Agent, unloaded: AbortSignal): void {
    if (this.isBound) return
    this.isBound = true
    unloaded.addEventListener('abort', () => void this.stopAll(), { once: true })
    agent.ctx.effect(() => () => this.stopAll(), 'background commands')
  }

  async stopAll(): Promise<void> {
    const running = [...this.commands.values()].filter(({ exit }) => !exit)
    for (const command of running) command.onChange = () => undefined
    await endGroups(running.map((command) => command.stopping()), LAST_GRACE)
    await Promise.all(running.map(({ over }) => over))
  }

  running(): readonly RunningCommand[] {
    return [...this.commands.values()].filter(({ exit }) => !exit).map(({ id, command, over }) => {
      const wake = this.wakes.get(id)
      return { id, command, over, ...(wake && { wake }) }
    })
  }

  /** One that ended with an earlier life of the agent. */
  lostOne(id: string): LostCommand | undefined {
    return this.lost.get(id)
  }

  /** Forgets a command whose end was read. */
  forget(id: string): void {
    this.commands.delete(id)
    this.lost.delete(id)
  }

  /** A line for each command that the model should know of. `untold`: without what a call back has told of it. */
  states(which: 'all' | 'untold'): readonly string[] {
    const lost = [...this.lost.values()].map((command) => `${command.id} ${lostText(command)}; its output is in ${command.file}`)
    const own = [...this.commands.values()].filter(({ exit, isTold }) => which === 'all' || !(exit && isTold))
    return [...lost, ...own.map((command) => stateOf(command, which === 'untold' && command.isTold))]
  }
}

/**
 * A command's state on one line. It says whether there is output, not how much: so it changes once, and again after a
 * read.
 */
function stateOf(command: BackgroundCommand, isTold = false): string {
  const news = command.hasNews && !isTold ? (command.exit ? '; it printed what you have not seen' : '; there is new output') : ''
  return `${command.id} (${nameOf(command.command)}) ${command.exit ? exitText(command.exit) : 'runs'}${news}`
}

export function exitText({ exitCode, signal, isStopped }: CommandExit): string {
  if (isStopped) return 'was stopped'
  return signal === null ? `ended with exit code ${exitCode}` : `was killed by ${signal}`
}

function nameOf(command: string): string {
  const line = command.trim().replace(/\s+/g, ' ')
  return shownName(line.length > MAX_NAMED ? `${cutAfter(line, MAX_NAMED)}…` : line)
}

function wakeFor(command: BackgroundCommand, wake: Wake, agent: Agent): void {
  if (wake === 'end' && !command.exit) return
  try {
    agent.steer({ key: 'background', content: `In the background, ${stateOf(command)}. background { id: ${JSON.stringify(command.id)} } gives its output.` })
    command.isTold = true
  } catch (error) {
    agent.report('background', error instanceof Error ? error.message : String(error))
  }
}
