import { text } from 'node:stream/consumers'
import { existsSync, fstatSync, readFileSync } from 'node:fs'
import type { Agent } from '@headrace/agent'
import { HeadraceError, messageOf, nearest, resolveModel, splitModel } from '@headrace/message'
import { presets } from '@headrace/plugin-models'
import type { Fold, SessionStore } from '@headrace/session'
import type { Context } from 'cordis'
import type { Config } from '../../plugin.ts'
import { ENDPOINT, isHttpUrl, providerOf, routeOf } from '../../route.ts'
import { boot, bootFile, shutDown } from '../base/app.ts'
import { type Attachment, readAttachment } from '../base/attachment.ts'
import { CANCELLED, CommandError, DENIED, DONE, FAILED, NO_ANSWER, UsageError } from '../base/error.ts'
import { Interrupts } from '../base/interrupts.ts'
import { type StoreOptions, foldOf, folderOf, newestIn, storeOf, storePlugin } from '../base/store.ts'
import type { Summary } from '../base/tally.ts'
import { type QuestionsOptions, questions } from '../show/questions.ts'
import type { Terminal } from '../show/terminal.ts'
import { Transcript, jsonLines } from '../show/transcript.ts'
import { follow } from './follow.ts'

export interface RunOptions extends StoreOptions {
  /** The file of an app, instead of the usual set. */
  readonly app?: string
  readonly cwd?: string
  readonly model?: string
  readonly baseUrl?: string
  /** Files that go with the prompt. */
  readonly image?: readonly string[]
  /** Tokens. */
  readonly window?: number
  /** Seconds. */
  readonly firstByte?: number
  readonly idle?: number
  readonly whole?: number
  readonly session?: string
  readonly continue?: true
  readonly yes?: true
  /** `false`: commands in the background are not waited for. */
  readonly wait?: boolean
  readonly json?: true
  readonly debug?: true
}

/** An existing session, folded to its end. */
export interface Found {
  readonly id: string
  readonly fold: Fold
}

/** The request for a run, checked as far as possible before the agent is started. */
export interface Plan {
  readonly cwd: string | undefined
  readonly prompt: string | undefined
  readonly attachments?: readonly Attachment[]
  /** The session to go on with. */
  readonly found: Found | undefined
  /** Of a new one. */
  readonly id: string | undefined
}

/** `headrace run`: prompts an agent, or lets it finish its open work, and follows it to the end. Returns the exit code. */
export async function run(words: readonly string[], options: RunOptions, terminal: Terminal): Promise<number> {
  const asked = await askedFor(words, options, terminal)
  // The app of a file has a store of its own to look for the session in, so it boots first.
  const plan = options.app === undefined ? await planOf(asked, options, terminal, await storeOf(options, 'to write')) : undefined
  if (typeof plan === 'number') return plan
  const config = plan && configOf(options, plan.found)
  const audience = options.json ? jsonLines(terminal) : new Transcript(terminal)
  const interrupts = new Interrupts((line) => terminal.warn(line))
  let app: Context | undefined
  try {
    app = config ? await bootSet(config, options, terminal) : await bootApp(options.app!, terminal, options.debug === true)
    await app.plugin(questions, { yes: options.yes === true, interrupt: () => interrupts.interrupt('SIGINT'), ...askedOn(process.stdin, process.stderr) })
    if (interrupts.signal.aborted) return CANCELLED
    const ready = plan ?? await planOf(asked, options, terminal, app.sessions.current)
    if (typeof ready === 'number') return ready
    checkModel(app, options, ready.found, config)
    const agent = await agentOf(app, ready, options, config?.baseURL)
    if (ready.found && !options.json) terminal.note(`session ${agent.id}, continued`)
    const stops = [interrupts.signal, terminal.closed]
    const summary = await follow(app, agent, ready, { audience, terminal, stops, waits: options.wait !== false })
    audience.end(summary)
    return exitCode(summary)
  } catch (error) {
    if (options.json && !(error instanceof UsageError)) terminal.json({ type: 'result', reason: 'error', error: { code: error instanceof HeadraceError ? error.code : 'ERROR', message: messageOf(error) } })
    throw error
  } finally {
    if (app) await shutDown(app, terminal)
    interrupts.stop()
  }
}

/** Checks the command line by itself. */
interface Asked {
  readonly cwd: string
  readonly prompt: string | undefined
  readonly attachments: readonly Attachment[]
}

async function askedFor(words: readonly string[], options: RunOptions, terminal: Terminal): Promise<Asked> {
  if (options.app !== undefined && options.store !== undefined) throw new UsageError('where sessions are kept is said in the file of --app; leave --store out')
  if (options.app !== undefined && options.baseUrl !== undefined) throw new UsageError('where models are is said in the file of --app; leave --base-url out')
  const cwd = folderOf(options.cwd ?? '.')
  if (options.app !== undefined) tellVariables(options.app, terminal)
  // --continue needs no prompt, and must not wait for a pipe that nobody closes.
  const prompt = await readPrompt({ words, fromPipe: options.continue !== true })
  const isNew = !options.continue && options.session === undefined
  if (prompt === undefined && isNew) throw new UsageError('there is no prompt; give it as an argument, e.g. headrace run "Why does the test fail?", or pipe it into stdin')
  return { cwd, prompt, attachments: (options.image ?? []).map(readAttachment) }
}

/** The usual set, with the store that was asked for. */
export async function bootSet(config: Config, { store, debug }: RunOptions, terminal: Terminal): Promise<Context> {
  const app = await boot({ ...config, ...(store !== undefined && { store: false as const }) }, terminal, debug === true)
  if (store !== undefined) await app.plugin(...await storePlugin(store))
  return app
}

/** The app of a file, which must have agents. @throws LoaderError, CommandError */
export async function bootApp(file: string, terminal: Terminal, debug: boolean): Promise<Context> {
  const { ctx } = await bootFile(file, {}, terminal, debug)
  if (ctx.get('agents') === undefined) throw new CommandError(`the app of ${file} has no agents; give it the entry @headrace/agent`)
  return ctx
}

/** Variables that hold for the usual set only, unless the file reads them itself. */
function tellVariables(file: string, terminal: Terminal): void {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const unread = ['HEADRACE_MODEL', 'HEADRACE_BASE_URL'].filter((name) => process.env[name] && !text.includes(name))
  if (unread.length > 0) terminal.note(`headrace: ${unread.join(' and ')} ${unread.length === 1 ? 'is' : 'are'} not used: with --app, models and where they are is said in ${file}`)
}

/** A turn that cannot send its request would settle its prompt. @throws UsageError before anything is written */
export function checkModel(app: Context, options: RunOptions, found: Found | undefined, set: Config | undefined): void {
  const logged = found?.fold.headers.baseline?.config.model
  const model = set ? set.model && routeOf(set.model, set.baseURL).model : options.model?.includes('/') ? options.model : undefined
  const provider = splitModel(model ?? logged ?? '').provider || undefined
  const known = app.llm.providers()
  if (provider === undefined || known.includes(provider)) return
  const which = `${JSON.stringify(provider)}${nearest(provider, known)}`
  if (!set) throw new UsageError(`the app has no provider ${which}; it has ${known.join(', ') || 'none'}`)
  throw new UsageError(`the session's model ${logged} is of the provider ${which}, which the usual set does not have; give the app that has it with --app, or another model with --model`)
}

async function planOf(
  { cwd, prompt, attachments }: Asked, options: RunOptions, terminal: Terminal, store: SessionStore,
): Promise<Plan | number> {
  const found = await findSession(store, options, cwd)
  if (prompt === undefined) {
    const idle = idleReason(found, options, cwd)
    if (idle && !(found && (await store.letters(found.id)).length > 0)) return tellIdle(idle, found, options, terminal)
  } else if (options.continue && !found) terminal.warn(`headrace: there is no session of ${cwd} yet; a new one begins`)
  return { prompt, attachments, found, id: options.session, cwd: found && options.cwd === undefined ? undefined : cwd }
}

async function findSession(store: SessionStore, options: RunOptions, cwd: string): Promise<Found | undefined> {
  const id = options.continue ? await newestIn(store, cwd) : options.session
  if (id === undefined) return undefined
  try {
    const fold = await foldOf(store, id)
    if (fold.length > 0) return { id, fold }
    // Its process died before anything was written: nothing is lost, and its id can be used again.
    await store.remove(id)
  } catch (error) {
    if (!(error instanceof HeadraceError && error.code === 'SESSION_NOT_FOUND')) throw error
  }
  return undefined
}

interface Idle {
  readonly code: number
  readonly why: string
}

/** Why there is nothing to go on with; `undefined` where there is something. */
function idleReason(found: Found | undefined, options: RunOptions, cwd: string): Idle | undefined {
  if (!found) return { code: FAILED, why: `nothing was acknowledged yet: there is no session ${options.session ?? `of ${cwd}`}; begin one with: headrace run "<prompt>"` }
  const { turn, turns, queue, owed } = found.fold.ledger
  if (turn || queue.length > 0 || owed) return undefined
  if (turns === 0) return { code: FAILED, why: `nothing was acknowledged yet: session ${found.id} has no prompt` }
  return { code: DONE, why: `nothing is left open in session ${found.id}` }
}

function tellIdle({ code, why }: Idle, found: Found | undefined, { json }: RunOptions, terminal: Terminal): number {
  if (json) terminal.json({ type: 'result', ...(found && { session: found.id }), reason: code === DONE ? 'done' : 'error', message: why, text: '', turns: 0, steps: 0 })
  terminal.warn(`headrace: ${why}`)
  return code
}

/** The usual set and its route. Checked here, since a turn that cannot send its request would settle its prompt. */
export function configOf(options: RunOptions, found: Found | undefined): Config {
  const { HEADRACE_MODEL, HEADRACE_BASE_URL } = process.env
  const logged = found?.fold.headers.baseline?.config
  const model = modelOf(options, logged?.model) ?? (logged ? undefined : HEADRACE_MODEL || undefined)
  if (model === undefined && !logged) throw new UsageError('there is no model; give --model <provider/model>, or set HEADRACE_MODEL (and HEADRACE_BASE_URL for an endpoint of your own)')
  const provider = model === undefined ? splitModel(logged!.model).provider : providerOf(model)
  // The variable applies to HEADRACE_MODEL and to names without a provider: another provider's key must not go to that address.
  const isForVariable = provider === undefined || provider === ENDPOINT || (options.model === undefined && provider === providerOf(HEADRACE_MODEL ?? ''))
  const baseURL = options.baseUrl ?? (isForVariable ? HEADRACE_BASE_URL || undefined : undefined)
  if (provider === undefined && baseURL === undefined) {
    const known = presets().map(({ name }) => name).join(', ')
    throw new UsageError(`the model ${JSON.stringify(model)} names no provider; write provider/model with one of ${known}, or say where it is with --base-url`)
  }
  if (provider === ENDPOINT && baseURL === undefined) throw new UsageError('where is the endpoint? Say so with --base-url, or set HEADRACE_BASE_URL')
  if (baseURL !== undefined && !isHttpUrl(baseURL)) throw new UsageError('the base URL must be an http(s) URL; give one such as "http://localhost:8000/v1"')
  return {
    ...(model !== undefined && { model }), ...(baseURL !== undefined && { baseURL }), ...waitsOf(options),
    ...(options.window !== undefined && { compaction: { window: options.window } }),
  }
}

/** The requested model; a name without a provider keeps the logged model's provider, unless a base URL is given. */
function modelOf({ model, baseUrl }: RunOptions, logged: string | undefined): string | undefined {
  return model === undefined || baseUrl !== undefined || logged === undefined ? model : resolveModel({ model }, logged).model
}

function waitsOf({ firstByte, idle, whole }: RunOptions): Pick<Config, 'clocks'> {
  const given = Object.entries({ firstByte, idle, whole })
    .flatMap(([name, seconds]) => seconds === undefined ? [] : [[name, seconds * 1000]])
  return given.length === 0 ? {} : { clocks: Object.fromEntries(given) as NonNullable<Config['clocks']> }
}

async function agentOf(app: Context, { found, id, cwd }: Plan, options: RunOptions, baseURL: string | undefined): Promise<Agent> {
  // The command line beats the log; a default does not.
  const asked = modelOf(options, found?.fold.headers.baseline?.config.model)
  const model = asked === undefined ? undefined : routeOf(asked, baseURL).model
  const common = { mail: true, ...(cwd !== undefined && { cwd }), ...(model !== undefined && { model }) }
  return found ? app.agents.resume(found.id, { ...common, ...(options.continue && { turn: 'continue' as const }) }) : app.agents.create({ ...common, ...(id !== undefined && { id }) })
}

/** A terminal to ask on: stdin and stderr must both be one. */
export function askedOn(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Pick<QuestionsOptions, 'terminal'> {
  return input.isTTY && output.isTTY ? { terminal: { input, output } } : {}
}

export function exitCode({ reason, finish, denied }: Summary): number {
  const isWhole = finish === undefined || finish === 'stop' || finish === 'tool-calls'
  if (reason === 'done') return !isWhole ? NO_ANSWER : denied ? DENIED : DONE
  return reason === 'cancelled' || reason === 'withdrawn' ? CANCELLED : FAILED
}

export interface PromptSource {
  /** Words of the command line; `-` alone stands for stdin. */
  readonly words: readonly string[]
  /** Without words stdin is read, where something is piped into it. */
  readonly fromPipe: boolean
  readonly stdin?: NodeJS.ReadStream
}

/** The prompt: words, else stdin; `undefined` where neither is given. @throws UsageError for an empty one */
export async function readPrompt({ words, fromPipe, stdin = process.stdin }: PromptSource): Promise<string | undefined> {
  const isDash = words.length === 1 && words[0] === '-'
  if (words.length > 0 && !isDash) {
    const prompt = words.join(' ')
    if (prompt.trim() === '') throw new UsageError('the prompt is empty; say what the agent should do')
    return prompt
  }
  if (!isDash && !(fromPipe && isPiped(stdin))) return undefined
  const prompt = (await text(stdin)).trim()
  if (prompt === '' && isDash) throw new UsageError('stdin is empty; pipe the prompt into it, or give it as an argument')
  return prompt === '' ? undefined : prompt
}

/** True for a pipe, a socket and a file; not for a terminal, nor for /dev/null. */
function isPiped(stdin: NodeJS.ReadStream): boolean {
  if (stdin.isTTY) return false
  try {
    const stats = fstatSync(0)
    return stats.isFIFO() || stats.isFile() || stats.isSocket()
  } catch {
    return false // It is closed.
  }
}
