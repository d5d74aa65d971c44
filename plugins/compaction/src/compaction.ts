import { type Context, Service } from 'cordis'
import z from 'schemastery'
import type { Agent } from '@headrace/agent'
import { strict } from '@headrace/config'
import { type UserMessage, messageOf, textOf } from '@headrace/message'
import type { Entry } from '@headrace/session'
import { cutAt, isWhole, trimmed } from './cut.ts'
import { Scale } from './size.ts'

declare module 'cordis' {
  interface Context {
    compaction: CompactionService
  }
}

/** Config of the plugin. */
export interface Config {
  /** Compacts by itself when a request is about to weigh this part of the window. 0: only by hand and after an overflow. */
  readonly threshold: number
  /** Tokens of the model's window. */
  readonly window: number
  /** The part of the window that the newest messages may keep. */
  readonly keep: number
  /** Characters that an old tool result keeps. */
  readonly result: number
  /** Tokens that a summary may have. */
  readonly summary: number
}

/** What a compaction came to. Tokens are estimates. */
export interface Compacted {
  readonly before: number
  readonly after: number
  readonly how: 'nothing' | 'trimmed' | 'summarised' | 'dropped'
}

/** Asks the model for a summary. */
export const INSTRUCTION = 'Write a summary of this conversation so far, for yourself: it will stand in the place of all but the newest messages. Keep what was asked for, what was decided and why, what was done and found (names, paths, values, exact errors), and what is still to do. Leave out what no longer matters. Answer with the summary only, and call no tools.'
/** The first line of a summary. */
export const SUMMARY_TITLE = 'Summary of the earlier conversation, which it replaces:'
/** Stands where the oldest part was left out without a summary. */
export const DROPPED = 'The earlier part of the conversation was left out, because it no longer fits and could not be summarised.'

/** `ctx.compaction`: keeps histories within their window. */
export class CompactionService extends Service {
  static override readonly name = 'compaction'
  static inject = ['agents']
  static Config: z<Partial<Config>, Config> = strict(z.object({
    threshold: z.number().min(0).max(1).default(0.8),
    window: z.natural().min(1).default(128_000),
    keep: z.number().min(0).max(1).default(0.25),
    result: z.natural().min(20).default(400),
    summary: z.natural().min(1).default(4_000),
  }))
  private readonly config: Config
  private readonly scale = new Scale()
  /** Sessions that are compacted at their next boundary, whatever they weigh. */
  private readonly due = new Set<string>()

  constructor(ctx: Context, config: Config) {
    super(ctx, 'compaction')
    this.config = config
    ctx.on('session/event', (agent, event) => this.scale.learn(agent, event))
    ctx.on('agent/request-error', (agent, _turn, _step, failure, next) => {
      if (failure.kind === 'overflow') this.due.add(agent.id)
      return next()
    })
    ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
      const { threshold, window } = this.config
      const over = threshold > 0 && this.scale.request(agent) >= threshold * window
      if (this.due.delete(agent.id) || over) await this.run(ctx.agents.get(agent.id) ?? agent)
      return next()
    })
  }

  /** Has a session compacted at its next boundary; at once where it is idle. */
  async compact(session: string): Promise<Compacted | undefined> {
    const agent = this.ctx.get('agents')?.get(session)
    if (!agent) return undefined
    if (!agent.turn) return this.run(agent)
    this.due.add(session)
    return undefined
  }

  /** The cheaper way first: old results are cut; where that is not enough, the oldest part gives way to a summary, or to a note. */
  private async run(agent: Agent): Promise<Compacted> {
    const before = this.scale.request(agent)
    const { window, keep } = this.config
    const weigh = (messages: Parameters<Scale['messages']>[1]): number => this.scale.messages(agent, messages)
    let how: Compacted['how'] = this.trim(agent, cutAt(agent.session.entries(), keep * window, weigh)) ? 'trimmed' : 'nothing'
    if (this.scale.request(agent) > before * 0.6) {
      const range = agent.session.entries().slice(0, cutAt(agent.session.entries(), keep * window, weigh))
      if (range.length > 1 && isWhole(range)) how = await this.summarise(agent, range) ?? how
    }
    return { before, after: this.scale.request(agent), how }
  }

  private trim(agent: Agent, cut: number): boolean {
    let some = false
    for (const { id, message } of agent.session.entries().slice(0, cut)) {
      const short = trimmed(message, this.config.result)
      if (!short) continue
      agent.replace(id, id, [short], { reason: 'an old result was trimmed', key: 'trim' })
      some = true
    }
    return some
  }

  private async summarise(agent: Agent, range: readonly Entry[]): Promise<'summarised' | 'dropped' | undefined> {
    const [first, last] = [range[0]!.id, range.at(-1)!.id]
    const summary = await this.summaryOf(agent, range)
    // By hand it runs beside the loop: a step may be open by now, or the range gone.
    try {
      if (typeof summary === 'string') {
        agent.replace(first, last, [{ role: 'user', content: DROPPED }], { reason: `could not be summarised: ${summary}`, key: 'drop' })
        agent.report('compaction', `${summary}; the oldest part of the history was left out instead`)
        return 'dropped'
      }
      agent.replace(first, last, [summary], { reason: 'summarised', key: 'summary' })
      return 'summarised'
    } catch (error) {
      agent.report('compaction', `${messageOf(error)}; the history stays as it is`)
      return undefined
    }
  }

  /** A summary that is shorter than what it replaces, or why there is none. */
  private async summaryOf(agent: Agent, range: readonly Entry[]): Promise<UserMessage | string> {
    try {
      const weight = this.scale.messages(agent, range.map(({ message }) => message))
      const { message, finish } = await agent.ask([{ role: 'user', content: INSTRUCTION }], { purpose: 'summary', config: { maxOutputTokens: this.config.summary } })
      const text = textOf(message).trim()
      if (text === '') return `the model gave no summary (${finish})`
      const summary: UserMessage = { role: 'user', content: [{ type: 'text', text: `${SUMMARY_TITLE}\n\n${text}` }] }
      return this.scale.messages(agent, [summary]) < weight ? summary : 'the summary is not shorter than what it would replace'
    } catch (error) {
      return messageOf(error)
    }
  }
}
