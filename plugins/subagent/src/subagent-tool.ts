import type { Agent, Context, ToolDefinition, ToolOutput, ToolRun, Turn } from '@headrace/agent'
import type { SessionView } from '@headrace/session'
import { SubagentError, TOOL, beginChild, depthOf, drive, resumeChild } from './child.ts'
import type { Config } from './config.ts'
import type { AgentLibrary } from './library.ts'
import { Queue } from './queue.ts'
import { type Details, type Progress, progressOf, reportOf, spentFrom } from './report.ts'

interface Input {
  readonly prompt?: string
  readonly title?: string
  readonly agent?: string
  readonly session?: string
}

/** The tool: the same description in every workspace, whatever agents there are. */
export function subagentTool(ctx: Context, config: Config, library: AgentLibrary): ToolDefinition<Input> {
  const queues = new WeakMap<SessionView, Queue>()
  const counts = new WeakMap<Turn, number>()
  const enter = ({ agent, turn, signal }: ToolRun): Promise<() => void> => {
    const count = (counts.get(turn) ?? earlier(agent, turn)) + 1
    if (count > config.perTurn) throw new SubagentError(`This turn has had ${config.perTurn} subagents, which is all it may have. Do the rest yourself.`)
    counts.set(turn, count)
    let queue = queues.get(agent.session)
    if (!queue) queues.set(agent.session, (queue = new Queue(config.atOnce)))
    return queue.enter(signal)
  }
  return {
    name: TOOL,
    description: 'Gives a task to a subagent, which works on it by itself with tools of its own, and returns its last message. Use it for work that would fill your own context, such as a search through many files, and for parts that do not depend on each other: call it several times in one answer, and they run at once. It knows nothing of this conversation: say in the prompt all that it needs, and what it is to report.',
    parameters: {
      type: 'object',
      properties: {
        prompt: { type: 'string', description: 'The task, complete in itself.' },
        title: { type: 'string', description: 'The task in three to six words, for people.' },
        agent: { type: 'string', description: 'Which of the available subagents; a general one where this is left out.' },
        session: { type: 'string', description: 'The session of a subagent that a result named: goes on with it, in place of a new one. It remembers what it did.' },
      },
      additionalProperties: false,
    },
    timeout: config.timeout,
    async execute(input, run) {
      const prompt = input.prompt?.trim() || (input.session === undefined ? undefined : 'Go on where you stopped.')
      if (prompt === undefined) throw new SubagentError('There is no prompt; say what the subagent is to do.')
      const leave = await enter(run)
      try {
        const child = await childOf(ctx, config, library, input, run)
        return await work(ctx, child, prompt, input.agent, run)
      } finally {
        leave()
      }
    },
  }
}

async function childOf(
  ctx: Context, config: Config, library: AgentLibrary, { agent: name, title, session }: Input, run: ToolRun,
): Promise<Agent> {
  if (session !== undefined) return resumeChild(ctx, run, session)
  const depth = await depthOf(ctx, run.agent)
  if (depth >= config.depth) throw new SubagentError('A subagent as deep as this has none of its own. Do the work yourself.')
  const { byName } = await library.look(run.agent)
  const definition = name === undefined || name === '' ? undefined : byName.get(name.normalize('NFC'))
  if (name !== undefined && name !== '' && !definition) {
    const there = byName.size === 0 ? 'There are none with a name; leave agent out' : `There are ${[...byName.keys()].slice(0, 50).join(', ')}`
    throw new SubagentError(`There is no subagent ${JSON.stringify(name.slice(0, 80))}. ${there}.`)
  }
  return beginChild(ctx, config, run, { definition, title: title?.trim() || undefined, depth })
}

/** Drives a subagent through its task, and closes it however that ends. */
async function work(
  ctx: Context, child: Agent, prompt: string, agent: string | undefined, { signal, progress }: ToolRun,
): Promise<ToolOutput> {
  const from = child.session.length
  const { session } = child
  let state: Progress = { session: child.id }
  const unwatch = session.on('event', (event) => {
    const more = progressOf(event)
    if (more) progress(state = { ...state, ...more })
  })
  const result = await drive(ctx, child, prompt, signal).finally(unwatch)
  const steps = result.steps
  const model = session.requestHeader()?.config.model
  const details: Details = {
    kind: 'subagent', session: child.id, reason: result.reason, steps, ...spentFrom(session, from, (name) => ctx.llm.info(name)),
    ...(agent && { agent }), ...(model !== undefined && { model }),
  }
  const over = child.dispose()
  // A stopped subagent may take some time to end; the call does not wait for it.
  if (signal.aborted) over.catch(() => undefined)
  else await over
  const { text, failed } = reportOf(child.id, result)
  return { content: text, error: failed, details: { ...details, usage: { ...details.usage } } }
}

/** Calls of the turn that were made before a resume. */
function earlier({ session }: Agent, turn: Turn): number {
  let count = 0
  for (let seq = session.length - 1; seq >= session.first; seq--) {
    const event = session.at(seq)
    if (event?.type === 'agent/child') count++
    if (event?.type === 'turn/start' && event.data.turn === turn.number) break
  }
  return count
}
