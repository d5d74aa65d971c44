import { Command, CommanderError } from 'commander'
import { DONE, FAILED, USAGE, UsageError, describeError, leave, version } from './base/error.ts'
import type { StoreOptions } from './base/store.ts'
import type { AcpOptions } from './commands/acp.ts'
import type { CreateOptions } from './commands/create.ts'
import type { ExplainOptions } from './commands/explain.ts'
import type { PluginsOptions } from './commands/plugins.ts'
import type { RunOptions } from './commands/run.ts'
import type { RewindCommand, SessionsOptions } from './commands/sessions.ts'
import type { SendCommand } from './commands/send.ts'
import type { SkillsOptions } from './commands/skills.ts'
import type { StartOptions } from './commands/start.ts'
import type { ExportCommand, ImportCommand } from './commands/transfer.ts'
import type { VerifyOptions } from './commands/verify.ts'
import type { WireOptions } from './commands/verify-wire.ts'
import { Terminal } from './show/terminal.ts'

// Commands are imported when they run: a whole agent takes long to load.
const commands = {
  run: async () => (await import('./commands/run.ts')).run,
  send: async () => (await import('./commands/send.ts')).send,
  acp: async () => (await import('./commands/acp.ts')).acp,
  explain: async () => (await import('./commands/explain.ts')).explain,
  verify: async () => (await import('./commands/verify.ts')).verify,
  verifyWire: async () => (await import('./commands/verify-wire.ts')).verifyWire,
  skills: async () => (await import('./commands/skills.ts')).skills,
  start: async () => (await import('./commands/start.ts')).start,
  check: async () => (await import('./commands/check.ts')).check,
  plugins: async () => (await import('./commands/plugins.ts')).plugins,
  create: async () => (await import('./commands/create.ts')).createPlugin,
}

/** Runs the command line of this process and reports uncaught errors. Returns the exit code, as {@link runCommand}. */
export async function main(argv: readonly string[]): Promise<number> {
  const terminal = new Terminal(process.stdout, process.stderr, process.env)
  const fail = failing(terminal, argv)
  for (const name of ['uncaughtException', 'unhandledRejection'] as const) process.on(name, (error: unknown) => void leave(fail(error)))
  return runCommand(argv, terminal)
}

/** Runs a command line. Returns the exit code: 0 done, 1 failed, 2 usage, 3 without a whole answer, 4 with calls denied, 130 cancelled. */
export async function runCommand(argv: readonly string[], terminal: Terminal): Promise<number> {
  const fail = failing(terminal, argv)
  let code = DONE
  try {
    await program(terminal, (result) => (code = result)).parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) return fail(error)
    return error.exitCode === 0 ? DONE : fail(new UsageError(usageProblem(error)))
  }
}

/** Prints an error. Returns its exit code. */
function failing(terminal: Terminal, argv: readonly string[]): (error: unknown) => number {
  return (error) => {
    for (const line of describeError(error, argv.includes('--debug'))) terminal.warn(line)
    return error instanceof UsageError ? USAGE : FAILED
  }
}

function program(terminal: Terminal, done: (code: number) => void): Command {
  const root = new Command('headrace')
    .description('LLM agents whose every request rebuilds from the log.')
    .version(version())
    .exitOverride()
    // Our own line is printed instead: commander's would repeat the value of an unknown option, which may be a key.
    .configureOutput({ outputError: () => undefined, writeOut: (text) => terminal.text(text) })
    .showSuggestionAfterError(false)
    .helpCommand(false)
  defineRun(root, terminal, done)
  defineSend(root, terminal, done)
  defineSessions(root, terminal, done)
  defineCreate(root, terminal, done)
  defineApp(root, terminal, done)
  const debug = (command: Command): Command => command.option('--debug', 'show the stack of an error')
  debug(root.command('explain'))
    .description('show a request in its parts: who put each there, what changed, what was sent before')
    .argument('<session>', 'id of a session, "last" (this folder\'s newest), or a .jsonl file')
    .argument('[step]', 'turn.step, turn.step.attempt, a step of the last turn, or #seq (default: the last request)')
    .option('--full', 'whole texts instead of first words')
    .option('--store <where>', STORE)
    .option('--json', 'as JSON')
    .action(async (what: string, step: string | undefined, options: ExplainOptions) =>
      done(await (await commands.explain())(what, step, options, terminal)),
    )
  debug(root.command('verify'))
    .description('rebuild every request from the log and compare; exit code 1 where one differs')
    .argument('<session>', 'id of a session, "last" (this folder\'s newest), or a .jsonl file')
    .option('--digest', 'print the last chain too; kept elsewhere, it proves that nobody recomputed the log')
    .option('--wire', 'make each body again, without sending it, and compare; exit code 1 where one differs, 2 where one cannot be compared')
    .option('--app <file>', 'with --wire: the app whose adapters make the bodies, in the place of the usual set')
    .option('--store <where>', STORE)
    .option('--json', 'as JSON')
    .action(async (what: string, options: VerifyOptions & WireOptions & { readonly wire?: true }) => {
      done(
        options.wire
          ? await (
              await commands.verifyWire()
            )(what, options, terminal)
          : await (
              await commands.verify()
            )(what, options, terminal),
      )
    })
  debug(root.command('skills'))
    .description('list the skills that an agent in this folder could open, and what is wrong with the others')
    .option('--cwd <folder>', 'the folder it would work in (default: this one)')
    .option('--json', 'a JSON line for each')
    .action(async (options: SkillsOptions) => done(await (await commands.skills())(options, terminal)))
  return root
}

/** @throws UsageError */
function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`${JSON.stringify(text.slice(0, 40))} is no whole number`)
  return Number(text)
}

function defineRun(root: Command, terminal: Terminal, done: (code: number) => void): void {
  root.command('run')
    .description('give an agent a prompt in this folder, and follow it to the end')
    .argument('[prompt...]', 'what to do; "-", or nothing where something is piped, reads it from stdin')
    .option('--cwd <folder>', 'the folder it works in (default: this one)')
    .option('--model <provider/model>', 'e.g. deepseek/deepseek-flash (default: HEADRACE_MODEL)')
    .option('--base-url <url>', 'an OpenAI-compatible endpoint (default: HEADRACE_BASE_URL)')
    .option('--image <file>', 'an image or a PDF that goes with the prompt; may be given again', (file: string, files: readonly string[] = []) => [...files, file])
    .option('--window <tokens>', 'the window of a model that is not known by name', whole)
    .option('--first-byte <seconds>', 'wait so long for an answer to begin; 0 is for ever (default: 900)', whole)
    .option('--idle <seconds>', 'wait so long between two bytes of an answer; 0 is for ever (default: 300)', whole)
    .option('--whole <seconds>', 'wait so long for a whole answer; 0 is for ever (default: 0)', whole)
    .option('--app <file>', 'the app that a YAML file describes, in the place of the usual set')
    .option('--session <id>', 'go on with this session, or begin it under this id')
    .option('--continue', 'go on with the newest session of this folder; without a prompt, finish what is open or queued')
    .option('--store <where>', STORE)
    .option('--yes', 'allow what would be asked: writing, editing, commands')
    .option('--no-wait', 'end commands in the background with the answer, also those that were to wake the agent')
    .option('--json', 'a JSON line for every event and piece of an answer, and a last one {"type":"result",…}')
    .option('--debug', 'show stacks and what plugins log')
    .addHelpText('after', RUN_HELP)
    .action(async (words: string[], options: RunOptions) => {
      if (options.continue && options.session !== undefined) throw new UsageError('--continue and --session name two sessions; give one of them')
      done(await (await commands.run())(words, options, terminal))
    })
}

function defineSend(root: Command, terminal: Terminal, done: (code: number) => void): void {
  root.command('send')
    .description('give a session a prompt, whoever runs it, and follow it to the end of its turn; run it where nobody does')
    .argument('<session>', 'id of a session, or "last" (this folder\'s newest)')
    .argument('[prompt...]', 'what to say; "-", or nothing where something is piped, reads it from stdin')
    .option('--steer', 'for the turn that runs, before its next request; where none runs it is a prompt like any')
    .option('--no-wait', 'leave it, and say whether somebody runs the session')
    .option('--key <key>', 'what was sent with this key is taken once')
    .option('--base-url <url>', 'where this command runs the session: an OpenAI-compatible endpoint (default: HEADRACE_BASE_URL)')
    .option('--app <file>', 'where this command runs the session: the app that a YAML file describes, in the place of the usual set')
    .option('--yes', 'where this command runs the session: allow what would be asked')
    .option('--store <where>', STORE)
    .option('--json', 'a JSON line for every event and piece of an answer of the turn, a first one {"type":"sent",…}, and a last one {"type":"result",…}')
    .option('--debug', 'show stacks and what plugins log')
    .action(async (what: string, words: string[], options: SendCommand) => {
      done(await (await commands.send())(what, words, options, terminal))
    })
  root.command('acp')
    .description('serve an editor over stdin and stdout, by the Agent Client Protocol (needs @headrace/plugin-acp)')
    .option('--model <model>', 'provider/model of new sessions (default: HEADRACE_MODEL)')
    .option('--base-url <url>', 'an OpenAI-compatible endpoint (default: HEADRACE_BASE_URL)')
    .option('--app <file>', 'the app that a YAML file describes, in the place of the usual set')
    .option('--store <where>', STORE)
    .option('--debug', 'show stacks and what plugins log')
    .action(async (options: AcpOptions) => {
      done(await (await commands.acp())(options, terminal))
    })
}

interface AppOption {
  readonly app?: string
}

function appOf(file: string | undefined, { app }: AppOption): string {
  if (file !== undefined && app !== undefined) throw new UsageError('<file> and --app name two apps; give one of them')
  return file ?? app ?? 'cordis.yml'
}

function defineApp(root: Command, terminal: Terminal, done: (code: number) => void): void {
  root.command('start')
    .description('boot the app of a YAML file, and stay until SIGINT or SIGTERM')
    .argument('[file]', 'the app (default: cordis.yml)')
    .option('--app <file>', 'the same, as other commands have it')
    .option('--watch', 'follow the file, and the modules that it names by a path')
    .option('--debug', 'show stacks and what plugins log')
    .action(async (file: string | undefined, options: StartOptions & AppOption) => {
      done(await (await commands.start())(appOf(file, options), options, terminal))
    })
  root.command('check')
    .description('read the app of a YAML file, import its modules and check their configs; starts nothing')
    .argument('[file]', 'the app (default: cordis.yml)')
    .option('--app <file>', 'the same, as other commands have it')
    .option('--debug', 'show the stack of an error')
    .action(async (file: string | undefined, options: AppOption) => done(await (await commands.check())(appOf(file, options), terminal)))
  root.command('plugins')
    .description('list the plugins, what each brings, and what it costs in a first request; nothing is sent')
    .option('--app <file>', 'of the app that a YAML file describes, in the place of the usual set')
    .option('--cwd <folder>', 'the folder an agent would work in (default: this one)')
    .option('--json', 'a JSON line for each')
    .option('--debug', 'show stacks and what plugins log')
    .action(async (options: PluginsOptions) => done(await (await commands.plugins())(options, terminal)))
}

const RUN_HELP = `
A key comes from the provider's variable (OPENAI_API_KEY, DEEPSEEK_API_KEY, …) or HEADRACE_API_KEY, never from an argument.
With --base-url a known provider in front of the model is reached there; any other name is sent to it as it is.
HEADRACE_BASE_URL goes with HEADRACE_MODEL, and with models that name no known provider.
Ctrl-C cancels the turn, a second one leaves. Exit codes: 0 done, 1 ended otherwise, 2 usage, 3 no whole answer,
4 done, but calls were denied that nobody was there to allow, 130 cancelled.

  headrace run "Why does the test fail?" --model deepseek/deepseek-flash
  headrace run "Fix it." --continue --yes
  headrace run "Hello" --model qwen3 --base-url http://localhost:8000/v1`

function defineCreate(root: Command, terminal: Terminal, done: (code: number) => void): void {
  const command = root.command('create')
    .description('make a package to begin with')
    .action(() => { throw new UsageError('say what to create: headrace create plugin <name>') })
  command.command('plugin')
    .description('make a plugin with a topic, a tool, a seam, config and tests, in a folder that is empty or new')
    .argument('<name>', 'runbook, or @you/plugin-runbook')
    .option('--dir <folder>', 'where (default: a folder of the package\'s name)')
    .option('--debug', 'show the stack of an error')
    .action(async (name: string, options: CreateOptions) => done(await (await commands.create())(name, options, terminal)))
}

/** Commander's message, without the value of an unknown option. */
function usageProblem({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'say what to do: run, send, start, check, plugins, sessions, explain, verify, skills or create; see headrace --help'
  if (code === 'commander.unknownOption') {
    const flag = /'(--[^'=\s]+|-[^'])/.exec(message)?.[1] ?? ''
    const isKey = /key|token|secret|auth/i.test(flag)
    return `there is no option ${flag}${isKey ? '; a key comes from the provider\'s variable or HEADRACE_API_KEY, never from an argument' : ''}; see --help`
  }
  return `${message.replace(/^error: /, '')}; see --help`
}

// Commands are imported when they run.
const sessions = () => import('./commands/sessions.ts')
const transfer = () => import('./commands/transfer.ts')
const rewind = () => import('./commands/sessions.ts')

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
    .action(async (id: string, options: StoreOptions, own: Command) =>
      done(await (await sessions()).removeSession(id, all(options, own), terminal)),
    )
  located(command.command('rewind'))
    .description('take a session back to where a turn began; the log keeps everything, and what tools did stays done')
    .argument('<session>', 'id of a session, or "last"')
    .option('--turns <n>', 'how many turns are taken back (default: the last one)')
    .option('--to <turn>', 'the number of the turn to whose beginning it goes back')
    .action(async (what: string, options: RewindCommand, own: Command) =>
      done(await (await rewind()).rewindSession(what, all(options, own), terminal)),
    )
  located(command.command('export'))
    .description('print a log as JSON lines, its blobs among them')
    .argument('<session>', 'id of a session, "last", or a .jsonl file')
    .option('--salvage', 'of a damaged log, every sound event; what is left out is told')
    .action(async (what: string, options: ExportCommand, own: Command) =>
      done(await (await transfer()).exportSession(what, all(options, own), terminal)),
    )
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
