import { setTimeout as delay } from 'node:timers/promises'
import type { OutcomeInput } from '@headrace/agent'
import { type BackgroundCommands, backgroundState, commandsOf, exitText } from '../background/background-commands.ts'
import { lostText } from '../background/lost-commands.ts'
import { endOfFile } from '../background/output-file.ts'
import type { Config } from '../config.ts'
import { WorkspaceError } from '../error.ts'
import { cleanText } from '../text.ts'
import { parametersOf } from './tool.ts'
import type { WorkspaceTool } from './tool.ts'

export interface BackgroundInput {
  readonly id?: string
  readonly stop?: boolean
  /** Seconds. */
  readonly wait?: number
}

const DESCRIPTION = 'Looks after commands that bash runs in the background: gives what one printed since the last look, and whether it still '
  + 'runs. Without an id it lists them.'

/** How long a look may wait (seconds). */
const MAX_WAIT = 600

export function createBackground(config: Config): WorkspaceTool<BackgroundInput> {
  return {
    name: 'background',
    description: DESCRIPTION,
    parameters: parametersOf({
      id: { type: 'string', description: 'As bash gave it, e.g. b1.' },
      stop: { type: 'boolean', description: 'End it, with all that it started.' },
      wait: { type: 'number', minimum: 0, maximum: MAX_WAIT, description: 'Seconds to wait for its end at most, before the look.' },
    }, []),
    // Runs after calls of the same answer that start a command.
    sequential: true,
    timeout: (MAX_WAIT + 30) * 1_000,
    async execute({ id, stop, wait }, run): Promise<OutcomeInput | string> {
      if (id === undefined) return backgroundState(run.agent) ?? 'No command runs in the background.'
      const commands = commandsOf(run.agent)
      const command = commands.get(id)
      if (!command) return lookAtLost(id, commands, config)
      if (stop === true) await command.stop()
      else if (wait !== undefined && !command.exit) await within(command.over, wait, run.signal)
      const output = command.look()
      const { exit } = command
      if (exit) commands.forget(id)
      return {
        content: `${output === '' || output.endsWith('\n') ? output : `${output}\n`}[${id} ${exit ? exitText(exit) : 'runs'}]`,
        details: { id, output: command.file.path, ...(exit && { exitCode: exit.exitCode, signal: exit.signal }) },
      }
    },
  }
}

/** Waits for a promise, for so many seconds at most, or until the call is cancelled. */
async function within(over: Promise<unknown>, seconds: number, signal: AbortSignal): Promise<void> {
  const ended = new AbortController()
  const late = delay(seconds * 1_000, undefined, { signal: AbortSignal.any([signal, ended.signal]) }).catch(() => undefined)
  await Promise.race([over, late])
  ended.abort()
}

async function lookAtLost(id: string, commands: BackgroundCommands, { maxOutput }: Config): Promise<OutcomeInput> {
  const lost = commands.lostOne(id)
  if (!lost) throw new WorkspaceError('NOT_FOUND', `There is no command ${JSON.stringify(id)} in the background; without an id this tool lists them.`)
  if (lost.isOthers) {
    commands.forget(id)
    return { content: `[${id} ${lostText(lost)}; its output is in ${lost.file}]`, details: { id, output: lost.file } }
  }
  const output = await endOfFile(lost.file, maxOutput)
  commands.forget(id)
  const shown = output === undefined ? '[Its output is gone, too.]\n' : cleanText(output === '' || output.endsWith('\n') ? output : `${output}\n`)
  return { content: `${shown}[${id} ${lostText(lost)}]`, details: { id, output: lost.file } }
}
