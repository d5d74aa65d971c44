import type { Session } from '@headrace/session'
import type { ModelLookup } from '@headrace/tokens'
import { Costs } from '../turn/costs.ts'

/** What the turns of a life cost, one after another. */
export class TurnCosts {
  private readonly session: Session
  private readonly costs: Costs
  /** The event that comes next. */
  private next: number

  constructor(session: Session, known: ModelLookup) {
    this.session = session
    const { turn } = session.ledger
    this.next = turn ? Math.max(turn.seq, session.first) : session.length
    const model = session.requestHeader()?.config.model
    // Where a turn goes on that changed the header, what it had before is not known.
    const isChanged = [...session.events(this.next)].some(({ type }) => type === 'request/header' || type === 'request/header-delta')
    this.costs = new Costs(known, isChanged ? '' : model)
  }

  /** Of the turn that ends, side requests included. */
  take(): number | undefined {
    for (const event of this.session.events(this.next)) {
      if (event.type === 'turn/start') this.costs.reset()
      this.costs.take(event)
    }
    this.next = this.session.length
    return this.costs.cost
  }
}
