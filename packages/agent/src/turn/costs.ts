import type { Json, Usage } from '@headrace/message'
import { type ModelLookup, costOf } from '@headrace/tokens'
import type { SessionEvent } from '@headrace/session'

/** What requests cost by the app's table of models, as their events pass by. */
export class Costs {
  /** US dollars; `undefined` while nothing was billed, and for good once the rates of a model are not known. */
  private sum: number | undefined
  private isKnown = true
  private readonly known: ModelLookup
  private model: string
  /** Of dispatches that have not ended: a side request may be another model's. */
  private readonly asked = new Map<number, string>()

  /** @param model of the header so far; empty where it is not known */
  constructor(known: ModelLookup, model = '') {
    this.known = known
    this.model = model
  }

  /** Bills what an event says. */
  take(event: SessionEvent): void {
    switch (event.type) {
      case 'request/header': this.model = event.data.header.config.model; return
      case 'request/header-delta': this.model = event.data.delta.config?.model ?? this.model; return
      case 'request/dispatch': this.asked.set(event.seq, event.data.config?.model ?? this.model); return
      case 'request/end': return this.bill(event.data)
      case 'tool/result': this.child(event.data.details)
    }
  }

  private bill({ dispatch, usage }: SessionEvent<'request/end'>['data']): void {
    const model = this.asked.get(dispatch)
    this.asked.delete(dispatch)
    if (!usage) return
    const cost = costOf(usage, model ? this.known(model) : undefined)
    this.isKnown &&= cost !== undefined
    this.sum = (this.sum ?? 0) + (cost ?? 0)
  }

  /** A tool that had another session work says in its details what that used and cost, in the words of a turn's result. */
  child(details: Json | undefined): void {
    const { kind, usage, cost } = (details ?? {}) as { readonly kind?: unknown; readonly usage?: Partial<Usage>; readonly cost?: unknown }
    if (kind !== 'subagent' || !usage?.input) return
    this.isKnown &&= typeof cost === 'number'
    this.sum = (this.sum ?? 0) + (typeof cost === 'number' ? cost : 0)
  }

  /** Of all that was billed, to a millionth of a dollar. Never 0 for what is not known. */
  get cost(): number | undefined {
    return this.isKnown && this.sum !== undefined ? Math.round(this.sum * 1e6) / 1e6 : undefined
  }

  /** Begins anew, with the same model. */
  reset(): void {
    this.sum = undefined
    this.isKnown = true
  }
}
