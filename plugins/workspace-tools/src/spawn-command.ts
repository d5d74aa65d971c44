import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { codeOf } from '@headrace/files'
import { messageOf } from '@headrace/message'
import { WorkspaceError } from './error.ts'
import { endWithProcess } from './process-group.ts'

/** What a command is started with. */
export interface SpawnOptions {
  readonly shell: string
  readonly cwd: string
  /** All that the command sees of our variables. */
  readonly env: Readonly<Record<string, string>>
}

/** A command that runs in a process group of its own. */
export interface SpawnedCommand {
  readonly child: ChildProcessByStdio<null, Readable, null>
  /** Of the group, and of the process that leads it. */
  readonly id: number
  /** Called when the group is ended otherwise: by its exit, or by the caller. */
  readonly release: () => void
}

/**
 * Waits until the group is watched, and exits if we are gone by then. Then it runs the shell as its child: so a
 * command's parent, whose variables it can read, is this process, which has no more than the command, and not ours with
 * its keys. Both outputs go into one pipe, so that their lines keep their order. It stays until the command is gone,
 * and passes on the signal that ended it. `--`: a command may begin with `-`.
 */
const RUNNER = 'trap : TERM INT HUP; read -r _ <&3 || exit 1; exec 3<&-; "$0" -c -- "$1" "$0" 2>&1; s=$?; '
  + 'trap - TERM INT HUP; [ $s -gt 128 ] && kill -$((s - 128)) $$; exit $s'

/** Starts a command without input. It ends with our process, however that ends. @throws WorkspaceError */
export async function spawnCommand(command: string, { shell, cwd, env }: SpawnOptions): Promise<SpawnedCommand> {
  try {
    const child = spawn(shell, ['-c', RUNNER, shell, command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'ignore', 'pipe'] })
    await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    child.on('error', () => {}) // The kill failed; the exit event tells the rest.
    const id = child.pid as number
    const release = endWithProcess(id)
    const gate = child.stdio[3] as Writable
    gate.on('error', () => {}) // It was killed before it was released.
    gate.end('\n')
    return { child: child as unknown as SpawnedCommand['child'], id, release }
  } catch (error) {
    const code = codeOf(error)
    if (code === 'E2BIG') throw new WorkspaceError('COMMAND_INVALID', 'The command is too long for one call: write it to a file and run that.')
    if (code === 'ENOENT') throw new WorkspaceError('COMMAND_INVALID', `There is no shell ${JSON.stringify(shell)} here; the app sets another one in "shell" of workspace-tools.`)
    throw new WorkspaceError('COMMAND_INVALID', `The command could not be started: ${messageOf(error)}.`)
  }
}
