import type { Agent } from '@headrace/agent'
import type { Message } from '@headrace/message'
import type { SessionEvent } from '@headrace/session'
import { type TokenCounter, heuristicCounter } from '@headrace/tokens'

/** Weighs what a session's next request will have, by an estimate that the provider's bills correct. */
export class Scale {
  private readonly counter: TokenCounter = heuristicCounter()
  /** Billed over estimated, of the last answer, by session. */
  private readonly ratios = new Map<string, number>()

  /** Learns from a bill. */
  learn(agent: Agent, event: SessionEvent): void {
    if (event.type !== 'request/end' || event.data.outcome !== 'ok' || event.data.answer || !event.data.usage) return
    const estimated = this.estimate(agent)
    const { input } = event.data.usage
    // A bill far from any estimate is a provider's mistake, or another unit.
    if (input > 0 && estimated > 0) this.ratios.set(agent.id, Math.min(4, Math.max(0.25, input / estimated)))
  }

  forget(agent: Agent): void {
    this.ratios.delete(agent.id)
  }

  /** Tokens of the next request, as far as it can be known. */
  request(agent: Agent): number {
    return Math.ceil(this.estimate(agent) * (this.ratios.get(agent.id) ?? 1))
  }

  /** Tokens of messages. */
  messages(agent: Agent, messages: readonly Message[]): number {
    return Math.ceil(this.counter.countMessages(messages) * (this.ratios.get(agent.id) ?? 1))
  }

  private estimate(agent: Agent): number {
    const header = agent.session.requestHeader()
    const { system = '', tools = [], prefix = [], before = [], after = [] } = header ?? {}
    const messages = this.counter.countMessages([...prefix, ...before, ...agent.session.deriveMessages(), ...after])
    return this.counter.countText(system) + this.counter.countText(JSON.stringify(tools)) + messages
  }
}
