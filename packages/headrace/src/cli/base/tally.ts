import { NO_USAGE, type Usage, addUsage, textOf } from '@headrace/message'
import { Costs, NOBODY_SAID } from '@headrace/agent/internal'
import type { ModelLookup } from '@headrace/tokens'
import { type Spent, detailsIn } from '@headrace/plugin-subagent'
import type { ErrorRecord, SessionEvent, TurnFinish, TurnReason } from '@headrace/session'

/** The outcome of a run: of its one turn, or of the whole queue. */
export interface Summary {
  readonly session: string
  /** The store's `location`, where it says one. */
  readonly store?: string
  /** Of the first turn that was not `done`, else `done`. */
  readonly reason: TurnReason | 'withdrawn' | 'parked'
  readonly error?: ErrorRecord
  /** Why the last answer ended. */
  readonly finish?: TurnFinish
  /** Calls that were denied by no person. Absent where there are none. */
  readonly denied?: number
  /** How many of those would have been asked for, with nobody there to ask. */
  readonly unattended?: number
  /** Of the last answer. */
  readonly text: string
  readonly turns: number
  readonly steps: number
  readonly usage: Usage
  /** US dollars, where the rates of every model that was used are known. */
  readonly cost?: number
}

/** Computes the outcome of a run from its events. */
export class Tally {
  private readonly session: string
  private readonly store: string | undefined
  private ended: SessionEvent<'turn/end'>['data'] | undefined
  private text = ''
  private turns = 0
  private steps = 0
  private usage = NO_USAGE
  private readonly costs: Costs
  private denied = 0
  private unattended = 0
  /** Calls that the user was asked about, by question; and those that were answered. */
  private readonly questions = new Map<number, string>()
  private readonly answered = new Set<string>()

  constructor(session: string, known: ModelLookup, store?: string) {
    this.costs = new Costs(known)
    this.session = session
    this.store = store
  }

  add(event: SessionEvent): void {
    this.costs.take(event)
    switch (event.type) {
      case 'step/start': this.steps++; return
      case 'assistant/message': this.text = textOf(event.data.message); return
      case 'request/end': this.usage = event.data.usage ? addUsage(this.usage, event.data.usage) : this.usage; return
      case 'question/asked': this.questions.set(event.seq, `${event.data.assistant}.${event.data.index}`); return
      case 'question/answered': if (event.data.by === 'user') this.answered.add(this.questions.get(event.data.question) ?? ''); return
      case 'tool/result':
        this.addSpent(detailsIn(event.data.details))
        if (event.data.outcome === 'denied' && !this.answered.has(`${event.data.assistant}.${event.data.index}`)) {
          this.denied++
          this.addBelow(event)
        }
        return
      case 'turn/end':
        this.turns++
        if (!this.ended || this.ended.reason === 'done') this.ended = event.data
    }
  }

  /** A denied call of a session that works for this one; how many those are, their maker's result says. */
  addBelow({ data: { message: { content: [block] } } }: SessionEvent<'tool/result'>): void {
    if (textOf(block).endsWith(NOBODY_SAID)) this.unattended++
  }

  /** Of a subagent, which has a log of its own. */
  private addSpent(spent: Spent | undefined): void {
    if (!spent) return
    this.usage = addUsage(this.usage, spent.usage)
    this.denied += spent.denied ?? 0
  }

  /** @param otherwise the outcome where no turn ended in the log */
  summary(otherwise: { readonly reason: Summary['reason']; readonly error?: ErrorRecord }): Summary {
    const { session, store, denied, unattended, text, turns, steps, usage, costs: { cost } } = this
    const { reason, error, finish } = this.ended ?? { ...otherwise, finish: undefined }
    return {
      session, ...(store !== undefined && { store }), reason, ...(error && { error }), ...(finish && { finish }),
      ...(denied > 0 && { denied, unattended }), text, turns, steps, usage,
      ...(cost !== undefined && { cost }),
    }
  }
}
