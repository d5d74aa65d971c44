import type { Agent } from '@headrace/agent'
import type { Failure } from '@headrace/message'
import { DEFAULT_WINDOW, type ModelLookup } from '@headrace/tokens'

/**
 * The window of a session's model in tokens: from the config, else from its budget, else from the table of models. An
 * overflow proves a smaller one, by model.
 */
export class Windows {
  private readonly stated: number | undefined
  private readonly known: ModelLookup
  private readonly proven = new Map<string, number>()

  constructor(stated: number | undefined, known: ModelLookup) {
    this.stated = stated
    this.known = known
  }

  of(agent: Agent): number {
    const model = modelOf(agent)
    const known = this.stated ?? budgetOf(agent) ?? this.known(model)?.context ?? DEFAULT_WINDOW
    return Math.min(known, this.proven.get(model) ?? Infinity)
  }

  /** Learns from an overflow: most providers name the limit; else it is less than what did not fit. */
  learn(agent: Agent, { window }: Failure, weight: number): void {
    const proof = window ?? Math.floor(weight * 0.9)
    const model = modelOf(agent)
    if (proof > 0) this.proven.set(model, Math.min(proof, this.proven.get(model) ?? Infinity))
  }
}

function modelOf({ session }: Agent): string {
  return session.requestHeader()?.config.model ?? session.origin?.config?.model ?? ''
}

/** The window that the newest step's budget was decided with. */
function budgetOf({ session }: Agent): number | undefined {
  for (let seq = session.length - 1; seq >= session.first; seq--) {
    const event = session.at(seq)
    if (event?.type === 'step/end') return event.data.budget?.window
  }
  return undefined
}
