import { setMaxListeners } from 'node:events'
import { askedCommand } from '../asked.ts'
import type { Config } from '../config.ts'
import { commandEnv, runCommand, unattendedEnv } from '../command.ts'
import type { CommandEnd } from '../command.ts'
import { WorkspaceError, mustGoOn } from '../error.ts'
import { parametersOf, workspaceOf } from './tool.ts'
import type { WorkspaceTool } from './tool.ts'

export interface BashInput {
  readonly command: string
  /** Seconds. */
  readonly timeout?: number
}

const DESCRIPTION = 'Runs a shell command in the workspace and gives its output and exit code. Each call is a new shell, without input; '
  + 'what it leaves running in the background ends with it. Of long output the beginning and the end are given.'

/** What ending a command takes beyond its time (milliseconds), in which our own limit must come first. */
const MARGIN = 10_000

/** @param unloaded aborted when the plugin goes */
export function createBash(config: Config, unloaded: AbortSignal): WorkspaceTool<BashInput> {
  setMaxListeners(0, unloaded) // One for each command of all agents.
  return {
    name: 'bash',
    description: DESCRIPTION,
    parameters: parametersOf({
      command: { type: 'string', minLength: 1, description: 'The command, of one line or more.' },
      timeout: { type: 'number', exclusiveMinimum: 0, description: 'Seconds after which it is ended; a default and a maximum are set.' },
    }, ['command']),
    sequential: true,
    timeout: Math.max(config.timeout, config.maxTimeout) + config.killGrace + MARGIN,
    ask: ({ command }) => `Run ${askedCommand(command)}`,
    async execute(input, run) {
      if (input.command.includes('\0')) throw new WorkspaceError('COMMAND_INVALID', 'The command has a NUL character in it.')
      mustGoOn(run.signal)
      const { cwd } = await workspaceOf(run, config)
      const timeout = input.timeout === undefined ? config.timeout : Math.min(input.timeout * 1_000, config.maxTimeout)
      const end = await runCommand(input.command.toWellFormed(), {
        ...{ shell: config.shell, cwd, env: unattendedEnv(commandEnv(process.env, config.env, cwd), config.env) },
        ...{ timeout, killGrace: config.killGrace, maxOutput: config.maxOutput, signals: [run.signal, unloaded] },
      })
      const content = shownEnd(end, timeout)
      // An exit code is an answer, not a failure of the tool.
      return end.stopped === undefined ? content : { content, error: true }
    },
  }
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
