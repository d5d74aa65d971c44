import type { Agent } from '@headrace/agent'
import type { Context } from 'cordis'

/** What a timer can wait at most. */
const LONGEST = 2 ** 31 - 1

/** True while an agent runs, owes, has something queued, asked or in the background. */
export function isBusy(ctx: Context, agent: Agent): boolean {
  const { session } = agent
  return agent.state !== 'idle' || session.owed || session.queue.length > 0 || agent.questions.length > 0 || isBehind(ctx, agent)
}

/** Commands in the background, of a plugin that has some: it answers with a list of those that run. */
function isBehind(ctx: Context, agent: Agent): boolean {
  const bail = ctx.bail.bind(ctx) as (name: string, agent: Agent) => unknown
  const running = bail('background/running', agent)
  return Array.isArray(running) && running.length > 0
}

/** Milliseconds that are left until it was idle for so long. */
export function idleSince(last: number, idle: number): number {
  return Math.min(last + idle - Date.now(), LONGEST)
}
