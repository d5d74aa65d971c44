import type { Agent, Context, ToolRun, TurnResult } from '@headrace/agent'
import { stateOf } from '@headrace/cordis'
import type { CallConfig } from '@headrace/message'
import type { SessionCard, SessionStore, SessionView, ToolChoice } from '@headrace/session'
import type { Config, Limits } from './config.ts'
import type { Definition } from './definition.ts'

declare module '@headrace/session' {
  interface EventMap {
    /** What a subagent was made from, in its own log: the name and text of its file. Never surface. */
    'subagent/opened': { readonly agent?: string; readonly instructions?: string }
  }
}

export const KIND = 'subagent'
/** The tool's name. */
export const TOOL = 'subagent'

/** A wrong request; the message is written for the model. */
export class SubagentError extends Error {}

/** The options of a new subagent. */
export interface Wanted {
  readonly definition: Definition | undefined
  readonly title: string | undefined
  /** The depth of its agent. */
  readonly depth: number
}

/** Creates a subagent under the running call. The parent's log names it, durably, before it gets any input. */
export async function beginChild(ctx: Context, config: Config, { agent, call }: ToolRun, wanted: Wanted): Promise<Agent> {
  const { definition, title, depth } = wanted
  const under = { session: agent.id, call: { assistant: lastAnswer(agent.session), index: call.index } }
  const child = await ctx.agents.create({
    cwd: agent.cwd,
    config: configOf(agent.session, config, definition),
    limits: limitsOf(agent.session, config.limits, definition),
    tools: toolsOf(agent.session, definition, depth + 1 < config.depth),
    under,
    kind: KIND,
    ...(title !== undefined && { title }),
  })
  child.session.append({
    type: 'subagent/opened',
    data: { ...(definition && { agent: definition.name }), ...(definition?.instructions && { instructions: definition.instructions }) },
  })
  return noted(agent, call.index, child)
}

/** Continues a subagent of this agent. Its unfinished turn is closed first. @throws SubagentError */
export async function resumeChild(ctx: Context, { agent, call }: ToolRun, id: string): Promise<Agent> {
  const live = ctx.agents.get(id)
  const open = live ? live.session.origin : (await cardOf(ctx.sessions.current, id))?.open
  if (open?.under?.session !== agent.id || open.kind !== KIND) {
    throw new SubagentError(`There is no subagent ${JSON.stringify(id)} of this session. Leave session out to begin a new one.`)
  }
  if (live) throw new SubagentError(`The subagent ${id} is running. Wait for the call that runs it.`)
  const child = await ctx.agents.resume(id, { turn: 'close', recent: true })
  return noted(agent, call.index, child)
}

/** The parent's log names the session before its first input: after a crash the call says where to look. */
async function noted(agent: Agent, index: number, child: Agent): Promise<Agent> {
  try {
    agent.session.append({ type: 'agent/child', data: { assistant: lastAnswer(agent.session), index, session: child.id, from: child.session.length } })
    await agent.session.flush()
    return child
  } catch (error) {
    await child.dispose()
    throw error
  }
}

/** The depth of a session: 0 for one without a parent. */
export async function depthOf(ctx: Context, agent: Agent): Promise<number> {
  let { under } = agent.session.origin ?? {}
  let depth = 0
  // A log that was imported may name itself.
  for (; under && depth < 100; depth++) {
    const { session } = under
    const live: Agent | undefined = ctx.agents.get(session)
    under = live ? live.session.origin?.under : (await cardOf(ctx.sessions.current, session))?.open?.under
  }
  return depth
}

/** The instructions for a subagent's model; none for other agents. Read from its log, once per life. */
export function instructions(): (agent: Agent) => string | undefined | Promise<string> {
  const known = new WeakMap<SessionView, Promise<string>>()
  return ({ session }) => {
    if (session.origin?.kind !== KIND) return undefined
    let text = known.get(session)
    if (!text) {
      text = session.read(0, 20).then((first) => {
        const opened = first.find((event) => event.type === 'subagent/opened')
        const own = opened?.type === 'subagent/opened' ? opened.data.instructions : undefined
        return own === undefined ? TASK : `${TASK}\n\n${own}`
      })
      known.set(session, text)
      text.catch(() => known.delete(session))
    }
    return text
  }
}

export const TASK = 'You are a subagent: another agent gave you one task, which is the first message. Work on it by yourself; nobody reads along. Your last message is all that the other agent gets of your work: say in it what you found or did, with the paths and names that it needs, and what you could not do.'

async function cardOf(store: SessionStore, id: string): Promise<SessionCard | undefined> {
  try {
    return await store.card(id)
  } catch {
    return undefined
  }
}

/** The seq of the answer whose calls run. */
function lastAnswer(session: SessionView): number {
  for (let seq = session.length - 1; seq >= session.first; seq--) if (session.at(seq)?.type === 'assistant/message') return seq
  throw new SubagentError('The call is not in the log.')
}

/**
 * The agent's config, without fields that concern only its own turn; with the model from the file or the plugin's
 * config.
 */
function configOf(session: SessionView, { model, models }: Config, definition: Definition | undefined): Partial<CallConfig> {
  const { output: _, ...inherited } = session.requestHeader()?.config ?? {} as Partial<CallConfig>
  const wanted = definition?.model
  const named = wanted === undefined ? undefined : Object.hasOwn(models, wanted) ? models[wanted] : wanted.includes('/') ? wanted : undefined
  const chosen = named ?? model
  return { ...inherited, ...(chosen !== undefined && { model: chosen }) }
}

function limitsOf(session: SessionView, limits: Limits, definition: Definition | undefined): Limits {
  const own = session.origin?.limits ?? {}
  const steps = Math.min(limits.steps, definition?.steps ?? Infinity, own.steps ?? Infinity)
  const time = Math.min(limits.time || Infinity, own.time || Infinity)
  return { steps, requests: Math.min(limits.requests, own.requests ?? Infinity), time: time === Infinity ? 0 : time }
}

/** Never more than the agent has now; names in a file ignore case, so that `Read` is `read`. */
function toolsOf(session: SessionView, definition: Definition | undefined, mayNest: boolean): ToolChoice {
  const has = (list: readonly string[], name: string): boolean => list.some((other) => other.toLowerCase() === name.toLowerCase())
  const { tools, without = [] } = definition ?? {}
  const names = (session.requestHeader()?.tools ?? []).map(({ name }) => name)
  return { only: names.filter((name) => (tools === undefined || has(tools, name)) && !has(without, name) && (mayNest || name !== TOOL)) }
}

/** Milliseconds that a call waits for a subagent that was told to stop; less than a tool has to end. */
const STOPPING = 1_000

/**
 * Gives a subagent its task and waits for its turn; ends it with the call: what cancels the one cancels the other.
 * Where the agent is parked, or this plugin is unloaded, it is parked, so that it can be continued.
 */
export async function drive(ctx: Context, child: Agent, prompt: string, signal: AbortSignal): Promise<TurnResult> {
  const handle = child.prompt(prompt)
  let stop!: () => void
  let timer: ReturnType<typeof setTimeout> | undefined
  const stopped = new Promise<TurnResult>((resolve) => {
    stop = () => {
      const { code, message } = signal.reason as { readonly code?: string; readonly message?: string }
      const isParked = code === 'PARKED' || stateOf(ctx.fiber) !== 'active'
      if (isParked) void child.park().catch(() => undefined)
      else child.cancel(`its agent's call ended: ${message ?? 'cancelled'}`, { queue: 'withdraw' })
      const reason = isParked ? 'parked' : 'cancelled'
      timer = setTimeout(() => resolve({ reason, text: '', usage: NOTHING, steps: 0, messages: [] }), STOPPING)
    }
  })
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await Promise.race([handle.result, stopped])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

const NOTHING: TurnResult['usage'] = { input: 0, cached: 0, written: 0, output: 0 }
