import type { Context } from 'cordis'
import { strict } from '@headrace/config'
import z from 'schemastery'
import type {} from '@headrace/briefing'
import { HeadraceError } from '@headrace/message'
import type { Agent } from '@headrace/agent'
import { type Facts, dayOf, renderFacts } from './facts.ts'
import { GitHead, type GitState } from './git.ts'

export const name = 'environment'
export const inject = ['agents', 'briefing']

/** Config of the plugin. */
export interface Config {
  /** `inject`: a topic in history, told when it changes, paid once. `after`: last in every request, paid each time. */
  readonly channel: 'inject' | 'after'
  /** Branch and head of the repository around the working directory. */
  readonly git: boolean
  /** IANA name of the zone whose day is told. Default: the machine's. */
  readonly timeZone?: string
  /** What the app adds, told in this order. A function is asked ahead of every step; it must give the same where nothing changed. */
  readonly facts?:
    | Record<string, string>
    | ((agent: Agent) => Record<string, string | undefined> | Promise<Record<string, string | undefined>>)
}

/** A config that is invalid. */
export class EnvironmentConfigError extends HeadraceError {
  constructor(problem: string) {
    super('CONFIG_INVALID', `environment: ${problem}`)
  }
}

export const Config: z<Partial<Config>, Config> = strict(z.object({
  channel: z.union(['inject', 'after'] as const).default('inject'),
  git: z.boolean().default(true),
  timeZone: z.string(),
  facts: z.union([z.dict(z.string()), z.function()]),
}))

/** The text around the facts, by channel. */
export const FIRST = 'The environment you work in:'
/** The first line of an announcement. */
export const CHANGED = 'The environment has changed. It is now:'

/** Tells facts of the workspace: never a time of day, never in a region that a provider caches ahead of the history. */
export async function apply(ctx: Context, config: Config): Promise<void> {
  checkTimeZone(config.timeZone)
  const git = new GitHead()
  const read = (agent: Agent): string | undefined | Promise<string | undefined> => {
    const state = config.git ? git.read(agent.cwd) : undefined
    const added = typeof config.facts === 'function' ? config.facts(agent) : config.facts
    // No `await` where the value is there: this runs ahead of every step.
    if (state instanceof Promise || added instanceof Promise) return Promise.all([state, added]).then((now) => told(agent, config, ...now))
    return told(agent, config, state, added)
  }
  if (config.channel === 'after') {
    ctx.agents.after({ key: 'environment', order: 100, content: read })
    return
  }
  ctx.briefing.topic({ key: 'environment', order: 100, content: read, changed: (text) => text.replace(FIRST, () => CHANGED) })
}

function told(
  agent: Agent,
  { timeZone }: Config,
  state: GitState | undefined,
  added: Record<string, string | undefined> = {},
): string | undefined {
  const facts: Facts = [
    ['date', dayOf(new Date(agent.now), timeZone)],
    ['platform', process.platform],
    ['working directory', agent.cwd],
    ['git branch', state?.branch],
    ['git head', state?.head],
    ...Object.entries(added),
  ]
  const text = renderFacts(facts)
  return text === undefined ? undefined : `${FIRST}\n\n${text}`
}

/** @throws EnvironmentConfigError for an unknown time zone: it would fail at each step and remove the whole topic */
function checkTimeZone(timeZone: string | undefined): void {
  try {
    dayOf(new Date(), timeZone)
  } catch {
    throw new EnvironmentConfigError(`timeZone ${JSON.stringify(timeZone)} is not a time zone; give the IANA name of one, such as Europe/Berlin or UTC`)
  }
}
