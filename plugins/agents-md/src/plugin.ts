import type { Context } from 'cordis'
import { type Agent, scopeOf } from '@headrace/agent'
import type {} from '@headrace/briefing'
import { type FileSystem, nodeFiles } from '@headrace/files'
import { messageOf } from '@headrace/message'
import type { SessionEvent, SessionView } from '@headrace/session'
import { type Account, AgentFiles } from './agent-files.ts'
import { projectWords } from './announcement.ts'
import { Config, settle } from './config.ts'
import { type Diagnostic, diagnosticLine } from './instruction-file.ts'
import { type Announcement, NestedFolders } from './nested-folders.ts'

declare module 'cordis' {
  interface Context {
    agentsMd: AgentsMd
  }
}

/** `ctx.agentsMd`: what is wrong with the instruction files of an agent, to read and to show. */
export interface AgentsMd {
  /** As of the last boundary or touch; each is also reported (`agent/report`) once. */
  diagnostics(agent: Agent): readonly Diagnostic[]
}

export const name = 'agents-md'
export const inject = ['agents', 'briefing']
export { Config }

export async function apply(ctx: Context, config: Config): Promise<void> {
  register(ctx, settle(config), nodeFiles)
}

/** What the plugin knows of an agent. */
interface Watched {
  readonly files: AgentFiles
  readonly nested: NestedFolders
  /** What the history tells of folders; `undefined` where that may have changed. */
  told: ReadonlyMap<string, string> | undefined
  /** The seq of the first unread event. */
  next: number
}

/** Whether an event may change what is told. */
function mayTell(event: SessionEvent): boolean {
  if (event.type === 'tool/result') return event.data.additionalContext !== undefined
  return event.type === 'context/message' || event.type === 'surface/replace' || event.type === 'surface/rewind'
}

/** Reads the events since the last use; cheaper than a listener for every event. */
function catchUp(watched: Watched, session: SessionView): void {
  if (watched.next === session.length) return
  for (const event of session.events(watched.next)) {
    if (event.type === 'turn/start' || event.type === 'step/start') watched.files.stale()
    else if (mayTell(event)) watched.told = undefined
  }
  watched.next = session.length
}

/** Registers the plugin on a given file system; tests pass their own. */
export function register(ctx: Context, config: Config, files: FileSystem): void {
  const agents = new WeakMap<SessionView, Watched>()
  const of = (agent: Agent): Watched => {
    let known = agents.get(agent.session)
    if (!known) {
      const own = new AgentFiles(files, config, agent.cwd)
      agents.set(
        agent.session,
        (known = { files: own, nested: new NestedFolders(own, config), told: undefined, next: agent.session.length }),
      )
    }
    catchUp(known, agent.session)
    return known
  }
  // Loaded for one agent, it does not provide the app's service.
  if (scopeOf(ctx) === undefined) ctx.provide('agentsMd', { diagnostics: (agent) => agents.get(agent.session)?.files.diagnostics() ?? [] })
  ctx.briefing.topic({
    key: 'project',
    content: (agent) => {
      const { files } = of(agent)
      const words = ({ text }: Account): string | undefined => {
        report(agent, files)
        return text === undefined ? undefined : projectWords.first(text)
      }
      const whole = files.whole()
      return whole instanceof Promise ? whole.then(words) : words(whole)
    },
    changed: projectWords.changed,
    removed: projectWords.removed,
  })
  if (config.nested) listen(ctx, of)
}

function listen(ctx: Context, of: (agent: Agent) => Watched): void {
  // Runs after the topic, which has checked the project's files: `briefing` was loaded first, so it listens first.
  const announce = async (agent: Agent): Promise<void> => {
    const watched = of(agent)
    const { files, nested } = watched
    watched.told ??= ctx.briefing.told(agent)
    try {
      await nested.announce(agent, watched.told)
    } catch (error) {
      agent.report('folders', `${messageOf(error)}; what was told stands`)
    }
    report(agent, files)
  }
  ctx.on('agent/prompt-submit', async (agent, _turn, _submission, next) => {
    await announce(agent)
    return next()
  })
  ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
    await announce(agent)
    return next()
  })
  ctx.on('tools/post-execute', async (agent, _turn, call, _outcome, next) => {
    const below = await next()
    const { files, nested } = of(agent)
    let found: readonly Announcement[] = []
    try {
      found = await nested.touch(call)
    } catch (error) {
      agent.report('tools/post-execute', `${messageOf(error)}; what the call touched is not looked at`)
    }
    report(agent, files)
    return found.length === 0 ? below : { ...below, additionalContext: [...found, ...below.additionalContext] }
  })
}

/** One report for each diagnostic. */
function report(agent: Agent, files: AgentFiles): void {
  for (const diagnostic of files.news()) agent.report('files', diagnosticLine(diagnostic))
}
