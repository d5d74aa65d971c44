import { Command, CommanderError } from 'commander'
import type { CreateOptions } from './create.ts'
import { DONE, FAILED, USAGE, UsageError, describeError } from './error.ts'
import type { ExplainOptions } from './explain.ts'
import { leave } from './leave.ts'
import type { PluginsOptions } from './plugins.ts'
import type { RunOptions } from './run.ts'
import type { StartOptions } from './start.ts'
import { STORE, defineSessions } from './sessions-command.ts'
import { Terminal } from './terminal.ts'
import type { SkillsOptions } from './skills.ts'
import type { VerifyOptions } from './verify.ts'
import { version } from './version.ts'

// What a command needs is loaded when it runs: a whole agent takes its time.
const commands = {
  run: async () => (await import('./run.ts')).run,
  explain: async () => (await import('./explain.ts')).explain,
  verify: async () => (await import('./verify.ts')).verify,
  skills: async () => (await import('./skills.ts')).skills,
  start: async () => (await import('./start.ts')).start,
  check: async () => (await import('./check.ts')).check,
  plugins: async () => (await import('./plugins.ts')).plugins,
  create: async () => (await import('./create.ts')).createPlugin,
}

/** Runs a command line. Returns the exit code: 0 done, 1 failed, 2 usage, 130 cancelled. */
export async function main(argv: readonly string[]): Promise<number> {
  const terminal = new Terminal(process.stdout, process.stderr, process.env)
  const debug = argv.includes('--debug')
  const fail = (error: unknown): number => {
    terminal.warn(describeError(error, debug))
    return error instanceof UsageError ? USAGE : FAILED
  }
  for (const name of ['uncaughtException', 'unhandledRejection'] as const) process.on(name, (error: unknown) => void leave(fail(error)))
  let code = DONE
  try {
    await program(terminal, (result) => (code = result)).parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) return fail(error)
    return error.exitCode === 0 ? DONE : fail(new UsageError(usageProblem(error)))
  }
}

function program(terminal: Terminal, done: (code: number) => void): Command {
  const root = new Command('headrace')
    .description('LLM agents whose every request rebuilds from the log.')
    .version(version())
    .exitOverride()
    // Our own line is printed instead: commander's would repeat the value of an unknown option, which may be a key.
    .configureOutput({ outputError: () => undefined })
    .showSuggestionAfterError(false)
    .helpCommand(false)
  defineRun(root, terminal, done)
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
    .action(async (what: string, step: string | undefined, options: ExplainOptions) => done(await (await commands.explain())(what, step, options, terminal)))
  debug(root.command('verify'))
    .description('rebuild every request from the log and compare; exit code 1 where one differs')
    .argument('<session>', 'id of a session, "last" (this folder\'s newest), or a .jsonl file')
    .option('--digest', 'print the last chain too; kept elsewhere, it proves that nobody recomputed the log')
    .option('--store <where>', STORE)
    .option('--json', 'as JSON')
    .action(async (what: string, options: VerifyOptions) => done(await (await commands.verify())(what, options, terminal)))
  debug(root.command('skills'))
    .description('list the skills that an agent in this folder could open, and what is wrong with the others')
    .option('--cwd <folder>', 'the folder it would work in (default: this one)')
    .option('--json', 'a JSON line for each')
    .action(async (options: SkillsOptions) => done(await (await commands.skills())(options, terminal)))
  return root
}

function defineRun(root: Command, terminal: Terminal, done: (code: number) => void): void {
  root.command('run')
    .description('give an agent a prompt in this folder, and follow it to the end')
    .argument('[prompt...]', 'what to do; "-", or nothing where something is piped, reads it from stdin')
    .option('--cwd <folder>', 'the folder it works in (default: this one)')
    .option('--model <provider/model>', 'e.g. deepseek/deepseek-chat (default: HEADRACE_MODEL)')
    .option('--base-url <url>', 'an OpenAI-compatible endpoint (default: HEADRACE_BASE_URL)')
    .option('--app <file>', 'the app that a YAML file describes, in the place of the usual set')
    .option('--session <id>', 'go on with this session, or begin it under this id')
    .option('--continue', 'go on with the newest session of this folder; without a prompt, finish what is open or queued')
    .option('--store <where>', STORE)
    .option('--yes', 'allow what would be asked: writing, editing, commands')
    .option('--json', 'a JSON line for every event and piece of an answer, and a last one {"type":"result",…}')
    .option('--debug', 'show stacks and what plugins log')
    .addHelpText('after', RUN_HELP)
    .action(async (words: string[], options: RunOptions) => {
      if (options.continue && options.session !== undefined) throw new UsageError('--continue and --session name two sessions; give one of them')
      done(await (await commands.run())(words, options, terminal))
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
Ctrl-C cancels the turn, a second one leaves. Exit codes: 0 done, 1 ended otherwise, 2 usage, 130 cancelled.

  headrace run "Why does the test fail?" --model deepseek/deepseek-chat
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

/** Commander's words, without what came behind an unknown option's name. */
function usageProblem({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'say what to do: run, start, check, plugins, sessions, explain, verify, skills or create; see headrace --help'
  if (code === 'commander.unknownOption') {
    const flag = /'(--[^'=\s]+|-[^'])/.exec(message)?.[1] ?? ''
    const isKey = /key|token|secret|auth/i.test(flag)
    return `there is no option ${flag}${isKey ? '; a key comes from the provider\'s variable or HEADRACE_API_KEY, never from an argument' : ''}; see --help`
  }
  return `${message.replace(/^error: /, '')}; see --help`
}
