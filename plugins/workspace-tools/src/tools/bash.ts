import { setMaxListeners } from 'node:events'
import { askedCommand } from '../asked.ts'
import type { OutcomeInput } from '@headrace/agent'
import { hideInitialSecrets } from '@headrace/files'
import type { JsonObject } from '@headrace/message'
import type { Wake } from '../background/background-command.ts'
import { type StartOptions, commandsOf } from '../background/background-commands.ts'
import type { Config } from '../config.ts'
import { runCommand } from '../command.ts'
import type { CommandEnd } from '../command.ts'
import { commandEnv, unattendedEnv } from '../command-env.ts'
import { WorkspaceError, mustGoOn } from '../error.ts'
import type { SpawnOptions } from '../spawn-command.ts'
import { parametersOf, workspaceOf } from './tool.ts'
import type { WorkspaceTool } from './tool.ts'

export interface BashInput {
  readonly command: string
  /** Seconds. */
  readonly timeout?: number
  readonly background?: boolean
  readonly wake?: Wake
}

const DESCRIPTION = 'Runs a shell command in the workspace and gives its output and exit code. Each call is a new shell, without input; '
  + 'what it leaves running in the background ends with it. Of long output the beginning and the end are given.'

const BACKGROUND: Readonly<Record<string, JsonObject>> = {
  background: {
    type: 'boolean',
    description: 'Go on while it runs, without a time limit, as for a server; the tool background gives its output and stops it. You are told when it ends; without wake it may be ended when you have answered.',
  },
  wake: {
    enum: ['end', 'output'],
    description: 'For a background command: whether its end, or new output too, calls you back when you have nothing left to do.',
  },
}

/** The margin for ending a command after its timeout (milliseconds), so that our timeout comes before the loop's. */
const MARGIN = 10_000

/** @param unloaded aborted when the plugin goes */
export function createBash(config: Config, unloaded: AbortSignal): WorkspaceTool<BashInput> {
  setMaxListeners(0, unloaded) // One for each command of all agents.
  hideInitialSecrets()
  return {
    name: 'bash',
    description: DESCRIPTION,
    parameters: parametersOf({
      command: { type: 'string', minLength: 1, description: 'The command, of one line or more.' },
      timeout: { type: 'number', exclusiveMinimum: 0, description: 'Seconds after which it is ended; a default and a maximum are set.' },
      ...(config.tools.includes('background') && BACKGROUND),
    }, ['command']),
    sequential: true,
    timeout: Math.max(config.timeout, config.maxTimeout) + config.killGrace + MARGIN,
    ask: ({ command, background }) => `Run ${background === true ? 'in the background ' : ''}${askedCommand(command)}`,
    async execute(input, run) {
      if (input.command.includes('\0')) throw new WorkspaceError('COMMAND_INVALID', 'The command has a NUL character in it.')
      mustGoOn(run.signal)
      const { cwd } = await workspaceOf(run, config)
      const command = input.command.toWellFormed()
      const options: SpawnOptions = { shell: config.shell, cwd, env: unattendedEnv(commandEnv(process.env, config.env, cwd), config.env) }
      if (input.background === true) {
        const { killGrace, maxOutput } = config
        return startInBackground(command, input.wake, { ...options, killGrace, maxOutput, agent: run.agent, unloaded })
      }
      const timeout = input.timeout === undefined ? config.timeout : Math.min(input.timeout * 1_000, config.maxTimeout)
      const end = await runCommand(command, {
        ...options,
        ...{ timeout, killGrace: config.killGrace, maxOutput: config.maxOutput, signals: [run.signal, unloaded], show: run.output },
      })
      const content = shownEnd(end, timeout)
      // An exit code is an answer, not a failure of the tool.
      return { content, error: end.stopped !== undefined, details: { exitCode: end.exitCode, signal: end.signal } }
    },
  }
}

async function startInBackground(command: string, wake: Wake | undefined, options: StartOptions): Promise<OutcomeInput> {
  const { id, file } = await commandsOf(options.agent).start(command, wake, options)
  return { content: `[Runs in the background as ${id}: its output goes to ${file.path}]`, details: { id, output: file.path } }
}

function shownEnd(end: CommandEnd, timeout: number): string {
  const notes = [
    ...(end.isCut ? ['Output was left out above; send it to a file to read all of it'] : []),
    ...(end.stopped === 'timeout' ? [`Ended after ${timeout / 1_000} seconds: the time was up`] : []),
    ...(end.stopped === 'cancelled' ? ['Ended: the call was cancelled'] : []),
    ...(end.hadBackground && end.stopped === undefined ? ['What it left running in the background was ended'] : []),
    end.signal === null ? `exit code ${end.exitCode}` : `killed by ${end.signal}`,
  ]
  const output = end.output === '' || end.output.endsWith('\n') ? end.output : `${end.output}\n`
  return `${output}${notes.map((note) => `[${note}]`).join('\n')}`
}
