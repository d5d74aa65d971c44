import { ContextLog, type RunContext } from '@headrace/run-context'
import type { EventDraft, Session } from '@headrace/session'
import { AgentError } from '../contract/error.ts'
import type { ContextProvider } from '../contract/options.ts'
import type { Turn } from '../contract/turn.ts'
import { orCancelled } from '../seams/dispatch.ts'
import { isRunContext } from '../seams/guards.ts'
import type { Reporter } from '../seams/report.ts'

/** The RunContexts of a session: what is true for a turn, and what of it the log has. */
export class RunContexts {
  /** The contexts logged so far. */
  readonly log = new ContextLog()
  private readonly session: Session
  private readonly reporter: Reporter
  private readonly provider: ContextProvider | undefined

  constructor(session: Session, reporter: Reporter, provider: ContextProvider | undefined) {
    this.session = session
    this.reporter = reporter
    this.provider = provider
    for (const event of session.eventsOf('run/context', 'prompt/queued')) this.log.apply(event)
  }

  /** What is true for a turn: the prompt's own context, else what the provider says. @throws AgentError for what is no RunContext */
  async of(turn: Turn, prompt: number | undefined): Promise<RunContext | undefined> {
    const queued = prompt === undefined ? undefined : this.session.at(prompt)
    if (queued?.type === 'prompt/queued' && queued.data.context !== undefined) return this.log.decode(queued.data.context)
    const context: unknown = await orCancelled(turn.signal, Promise.resolve(this.provider?.(turn)))
    if (context === undefined || isRunContext(context)) return context
    throw new AgentError('CONTEXT_INVALID', 'the context of an agent is a function that gives a RunContext or undefined; it gave something else')
  }

  /** The `run/context` that a turn's first dispatch owes; one that cannot be encoded is reported. */
  owed(turn: Turn, context: RunContext | undefined): EventDraft<'run/context'> | undefined {
    const last = this.log.last?.data
    if (!context || (last?.turn === turn.number && last.digest === context.digest)) return undefined
    try {
      return { type: 'run/context', data: { turn: turn.number, ...this.log.encode(context, this.session.length) } }
    } catch (error) {
      this.reporter.failed(error, 'run/context')
      return undefined
    }
  }
}
