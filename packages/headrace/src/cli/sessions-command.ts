import type { Command } from 'commander'
import type { RewindCommand } from './rewind.ts'
import type { SessionsOptions } from './sessions.ts'
import type { StoreOptions } from './store.ts'
import type { Terminal } from './terminal.ts'
import type { ExportCommand, ImportCommand } from './transfer.ts'

// What a command needs is loaded when it runs.
const sessions = () => import('./sessions.ts')
const transfer = () => import('./transfer.ts')
const rewind = () => import('./rewind.ts')

/** What `--store` takes. */
export const STORE = 'sqlite:<file> or jsonl:<folder> (default: jsonl:~/.local/state/headrace/sessions, or below $XDG_STATE_HOME)'

/** `headrace sessions` and what can be done with one. */
export function defineSessions(root: Command, terminal: Terminal, done: (code: number) => void): void {
  const command = located(root.command('sessions'))
    .description('list the sessions, newest first')
    .option('--json', 'a JSON line for each')
    .action(async (options: SessionsOptions) => done(await (await sessions()).sessions(options, terminal)))
  /** A subcommand shares the names of `sessions`' own options, so they are asked of both. */
  const all = <T extends object>(_: T, own: Command): T => own.optsWithGlobals<T>()
  located(command.command('rm'))
    .description('remove a session and its blobs')
    .argument('<id>')
    .action(async (id: string, options: StoreOptions, own: Command) => done(await (await sessions()).removeSession(id, all(options, own), terminal)))
  located(command.command('rewind'))
    .description('take a session back to where a turn began; the log keeps everything, and what tools did stays done')
    .argument('<session>', 'id of a session, or "last"')
    .option('--turns <n>', 'how many turns are taken back (default: the last one)')
    .option('--to <turn>', 'the number of the turn to whose beginning it goes back')
    .action(async (what: string, options: RewindCommand, own: Command) => done(await (await rewind()).rewindSession(what, all(options, own), terminal)))
  located(command.command('export'))
    .description('print a log as JSON lines, its blobs among them')
    .argument('<session>', 'id of a session, "last", or a .jsonl file')
    .option('--salvage', 'of a damaged log, what can be read before the damage')
    .action(async (what: string, options: ExportCommand, own: Command) => done(await (await transfer()).exportSession(what, all(options, own), terminal)))
  located(command.command('import'))
    .description('take what export printed, or a log\'s own file: checked, every request rebuilt and compared, all or nothing')
    .argument('<file>', 'a .jsonl file, or "-" for stdin')
    .option('--id <id>', 'the session\'s id here (default: the one it has)')
    .option('--without-blobs', 'also where blobs that it names did not come with it')
    .action(async (what: string, { withoutBlobs, ...options }: ImportCommand & { readonly withoutBlobs?: true }, own: Command) => {
      done(await (await transfer()).importSession(what, { ...all(options, own), ...(withoutBlobs && { blobs: false as const }) }, terminal))
    })
}

function located(command: Command): Command {
  return command
    .option('--store <where>', STORE)
    .option('--debug', 'show the stack of an error')
}
