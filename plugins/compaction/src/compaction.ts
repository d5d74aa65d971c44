import { type Context, Service } from 'cordis'
import z from 'schemastery'
import type { Agent } from '@headrace/agent'
import { strict } from '@headrace/config'
import { type Contribution, type Failure, type UserMessage, messageOf, textOf } from '@headrace/message'
import type { Entry } from '@headrace/session'
import { cutAt, cutMessage, isWhole, lastPlace, newestOfUser, trimmed } from './cut.ts'
import { Scale } from './size.ts'
import { summarise } from './summary.ts'
import { Windows } from './windows.ts'

declare module 'cordis' {
  interface Context {
    compaction: CompactionService
  }
}

/** Config of the plugin. */
export interface Config {
  /**
   * Compacts automatically when the next request would take this part of the window. 0: only by hand and after an
   * overflow.
   */
  readonly threshold: number
  /** Tokens of the model's window. Default: from the agent's budget, or the table of models. An overflow lowers it. */
  readonly window?: number
  /** The part of the window that the newest messages may keep. */
  readonly keep: number
  /** Characters that an old tool result keeps. */
  readonly result: number
  /** Tokens that a summary may have; never more than a tenth of the window. */
  readonly summary: number
  /** How many attempts are made for a summary. */
  readonly attempts: number
  /** Milliseconds before the next attempt, doubled each time; the provider's `retry-after` takes precedence. */
  readonly delay: number
}

/** The result of a compaction. Tokens are estimates. */
export interface Compacted {
  readonly before: number
  readonly after: number
  readonly how: 'nothing' | 'trimmed' | 'summarised' | 'dropped' | 'cut'
}

/** The first line of a summary. */
export const SUMMARY_TITLE = 'Summary of the earlier conversation, which it replaces:'
/** Replaces the part between the user's newest message and the cut; its summary is before that message. */
export const SUMMARISED = 'What was done here stands in the summary above.'
/** Replaces the oldest part where there is no summary. */
export const DROPPED = 'The earlier part of the conversation was left out, because it no longer fits and could not be summarised.'

/** `ctx.compaction`: keeps histories within their window. */
export class CompactionService extends Service {
  static override readonly name = 'compaction'
  static inject = ['agents', 'llm']
  static Config: z<Partial<Config>, Config> = strict(z.object({
    threshold: z.number().min(0).max(1).default(0.8),
    window: z.natural().min(1),
    keep: z.number().min(0).max(1).default(0.25),
    result: z.natural().min(20).default(400),
    summary: z.natural().min(1).default(4_000),
    attempts: z.natural().min(1).default(4),
    delay: z.natural().default(1_000),
  }))
  private readonly config: Config
  private readonly scale = new Scale()
  private readonly windows: Windows
  /** Sessions that are compacted at their next boundary, whatever their size. */
  private readonly due = new Set<string>()
  /** The size of requests after the last compaction, by session. */
  private readonly last = new Map<string, number>()
  /** Sessions whose user was told that compaction does not help. */
  private readonly told = new Set<string>()

  constructor(ctx: Context, config: Config) {
    super(ctx, 'compaction')
    this.config = config
    this.windows = new Windows(config.window, (model) => ctx.llm.info(model))
    ctx.on('session/event', (agent, event) => this.scale.learn(agent, event))
    ctx.on('agent/request-error', (agent, _turn, _step, failure, next) => {
      if (failure.kind === 'overflow') this.overflown(agent, failure)
      return next()
    })
    ctx.on('agent/pre-step', async (agent, turn, _step, next) => {
      if (this.due.has(agent.id) || this.isOver(agent))
        await this.run(ctx.agents.get(agent.id) ?? agent, this.due.delete(agent.id), turn.signal)
      return next()
    })
  }

  /** An overflow corrects the window and the estimate of tokens. */
  private overflown(agent: Agent, failure: Failure): void {
    this.windows.learn(agent, failure, this.scale.request(agent))
    this.scale.atLeast(agent, this.windows.of(agent))
    this.due.add(agent.id)
  }

  /** True over the threshold; after a compaction that hardly helped, only once there is something to gain. */
  private isOver(agent: Agent): boolean {
    const { threshold } = this.config
    if (threshold === 0) return false
    const [weight, window, last] = [this.scale.request(agent), this.windows.of(agent), this.last.get(agent.id)]
    if (weight < threshold * window) return false
    return last === undefined || last < weight - 0.15 * window || weight >= 0.95 * window && last < weight - 0.02 * window
  }

  /** Has a session compacted at its next boundary; at once where it is idle. */
  async compact(session: string): Promise<Compacted | undefined> {
    const agent = this.ctx.get('agents')?.get(session)
    if (!agent) return undefined
    if (!agent.turn) return this.run(agent, false)
    this.due.add(session)
    return undefined
  }

  /**
   * The cheaper way first: old results are cut; where that is not enough, the oldest part is replaced by a summary.
   * Nothing is lost while the request fits; the newest message of the user is never removed, and is cut only where it
   * does not fit alone.
   */
  private async run(agent: Agent, overflown: boolean, signal?: AbortSignal): Promise<Compacted> {
    const before = this.scale.request(agent)
    const window = this.windows.of(agent)
    const must = overflown || before >= window
    const weigh = (messages: Parameters<Scale['messages']>[1]): number => this.scale.messages(agent, messages)
    const fixed = before - weigh(agent.session.entries().map(({ message }) => message))
    // The kept part and the summary must fit under the threshold together with the fixed part.
    const room = Math.max(0, (this.config.threshold || 0.8) * 0.75 * window - fixed - this.summaryTokens(window))
    const keep = Math.min(this.config.keep * window, room)
    let tried = false
    let how: Compacted['how'] = await this.trim(agent, cutAt(agent.session.entries(), keep, weigh), signal) ? 'trimmed' : 'nothing'
    if (this.scale.request(agent) > Math.min(before * 0.6, (this.config.threshold || 0.8) * window) || (how === 'nothing' && !must)) {
      const entries = agent.session.entries()
      const given = await this.give(agent, entries, cutAt(entries, keep, weigh), must, signal)
      tried = given !== undefined
      if (given && given !== 'kept') how = given
    }
    if (must && this.scale.request(agent) >= window && this.cutNewest(agent, fixed, window)) how = 'cut'
    const after = this.scale.request(agent)
    // Not remembered where nothing could be tried: there may be more to compact at the next boundary.
    if (tried || how !== 'nothing') this.last.set(agent.id, after)
    this.say(agent, after, fixed, window)
    return { before, after, how }
  }

  /** Reported once per session: compaction cannot make the next requests smaller. */
  private say(agent: Agent, after: number, fixed: number, window: number): void {
    const most = (this.config.threshold || 0.8) * window
    if (after < most || fixed < most / 2 || this.told.has(agent.id)) return
    this.told.add(agent.id)
    agent.report('compaction', `it did not bring the request below its threshold: ${fixed} of the window's ${window} tokens are its fixed part (system, tools, prefix); use fewer tools, or a model with a larger window`)
  }

  private summaryTokens(window: number): number {
    return Math.max(1, Math.min(this.config.summary, Math.floor(window / 10)))
  }

  private async trim(agent: Agent, cut: number, signal?: AbortSignal): Promise<boolean> {
    const short = agent.session.entries().slice(0, cut).flatMap((entry) => {
      const message = trimmed(entry.message, this.config.result)
      return message ? [{ entry, message }] : []
    })
    if (short.length === 0) return false
    const kept = await this.kept(agent, short.map(({ entry }) => entry), signal)
    try {
      for (const { entry: { id }, message } of short) agent.replace(id, id, [message], { reason: 'an old result was trimmed', key: 'trim' })
      const place = kept.length > 0 ? lastPlace(agent.session.entries(), cut) : undefined
      if (place) agent.replace(place.id, place.id, [place.message, ...kept], { reason: 'what was trimmed is told again', key: 'keep' })
    } catch (error) {
      agent.report('compaction', `${messageOf(error)}; the history stays as it is`)
      return false
    }
    return true
  }

  /** What plugins want repeated after the removed part, within a quarter of the window. */
  private async kept(agent: Agent, going: readonly Entry[], signal?: AbortSignal): Promise<readonly Contribution[]> {
    let left = this.windows.of(agent) / 4
    const limit = (message: Contribution): number => {
      const weight = this.scale.messages(agent, [message])
      const part = Math.max(0, left) / weight
      left -= weight
      return part >= 1 ? Infinity : Math.floor(textOf(message).length * part)
    }
    return agent.keep(going, { limit, ...(signal && { signal }) })
  }

  /**
   * Replaces what is before the cut by a summary, except the newest message of the user. Without a summary, only what
   * does not fit is removed.
   */
  private async give(agent: Agent, entries: readonly Entry[], cut: number, must: boolean, signal?: AbortSignal): Promise<'summarised' | 'dropped' | 'kept' | undefined> {
    const ranges = newestOfUser(entries, cut).filter((range) => range.length > 0 && isWhole(range))
    if (ranges.reduce((sum, range) => sum + range.length, 0) < 2) return undefined
    const weight = this.scale.messages(agent, ranges.flat().map(({ message }) => message))
    const text = await summarise(agent, { ...this.config, tokens: this.summaryTokens(this.windows.of(agent)), signal })
    const summary: UserMessage = { role: 'user', content: [{ type: 'text', text: `${SUMMARY_TITLE}\n\n${text.summary ?? ''}` }] }
    const problem = text.problem ?? (this.scale.messages(agent, [summary]) < weight ? undefined : 'the summary is not shorter than what it would replace')
    if (problem !== undefined && !must) {
      agent.report('compaction', `${problem}; the history still fits and stays as it is`)
      return 'kept'
    }
    // Called by hand it runs beside the loop: a step may be open by now, or the range gone.
    try {
      const kept = await this.kept(agent, ranges.flat(), signal)
      for (const [index, range] of ranges.entries()) {
        const [content, reason, key] = problem !== undefined ? [DROPPED, `could not be summarised: ${problem}`, 'drop'] : [SUMMARISED, 'summarised', 'summary']
        const message = problem === undefined && index === 0 ? summary : { role: 'user' as const, content }
        agent.replace(range[0]!.id, range.at(-1)!.id, index === 0 ? [message, ...kept] : [message], { reason, key })
      }
    } catch (error) {
      agent.report('compaction', `${messageOf(error)}; the history stays as it is`)
      return 'kept'
    }
    if (problem === undefined) return 'summarised'
    agent.report('compaction', `${problem}; the oldest part of the history was left out instead`)
    return 'dropped'
  }

  /**
   * Cuts the newest message of the user where it does not fit alone: its middle is removed, and the model and the user
   * are told how much.
   */
  private cutNewest(agent: Agent, fixed: number, window: number): boolean {
    const entry = agent.session.entries().findLast(({ message }) => message.role === 'user')
    if (!entry) return false
    const weight = this.scale.messages(agent, [entry.message])
    const target = Math.floor(0.7 * window) - fixed
    const cut = target > 0 && target < weight ? cutMessage(entry.message, target / weight) : undefined
    if (!cut) return false
    agent.replace(entry.id, entry.id, [cut.message], { reason: 'it does not fit into the window alone', key: 'cut' })
    agent.report('compaction', `the message does not fit into the model's window: ${cut.left} characters of its middle were left out (the log has them, event ${entry.id})`)
    return true
  }
}
