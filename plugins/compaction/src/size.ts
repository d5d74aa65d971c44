import type { Agent } from '@headrace/agent'
import type { Message } from '@headrace/message'
import type { SessionEvent, SessionView } from '@headrace/session'
import { type TokenCounter, heuristicCounter } from '@headrace/tokens'

/** Estimates the size of a session's next request, corrected by the provider's reported usage. */
export class Scale {
  private readonly counter: TokenCounter = heuristicCounter()
  /** Billed over estimated, of the last answer, by session. */
  private readonly ratios = new Map<string, number>()
  private readonly histories = new WeakMap<SessionView, { tokens: number | undefined; next: number }>()

  /** Learns from reported usage. */
  learn(agent: Agent, event: SessionEvent): void {
    if (event.type !== 'request/end' || event.data.outcome !== 'ok' || event.data.answer || !event.data.usage) return
    const estimated = this.estimate(agent)
    const { input } = event.data.usage
    // Usage far from any estimate is a provider's mistake, or another unit.
    if (input > 0 && estimated > 0) this.ratios.set(agent.id, Math.min(4, Math.max(0.25, input / estimated)))
  }

  /** Learns the least size of the newest request: it did not fit. */
  atLeast(agent: Agent, tokens: number): void {
    const estimated = this.estimate(agent)
    if (estimated <= 0) return
    const ratio = this.ratios.get(agent.id) ?? 1
    this.ratios.set(agent.id, Math.min(4, Math.max(ratio, tokens / estimated)))
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

  private estimate({ session }: Agent): number {
    const { system, tools, prefix = [], before = [], after = [] } = session.requestHeader() ?? {}
    const segments = { prefix: prefix.length, before: before.length, history: 0, after: after.length }
    const messages = [...prefix, ...before, ...after]
    const rest = this.counter.countRequest({ ...(system !== undefined && { system }), ...(tools && { tools }), messages, segments })
    return rest.total + this.history(session)
  }

  /** Tokens of the history. Counts only what is new since the last call: this runs ahead of every step. */
  private history(session: SessionView): number {
    let known = this.histories.get(session)
    if (!known) this.histories.set(session, (known = { tokens: undefined, next: 0 }))
    if (known.tokens !== undefined) {
      for (const event of session.events(Math.max(known.next, session.first))) {
        if (event.type === 'surface/replace' || event.type === 'surface/rewind') {
          known.tokens = undefined
          break
        }
        known.tokens += this.counter.countMessages(messagesOf(event))
      }
    }
    known.next = session.length
    return (known.tokens ??= this.counter.countMessages(session.entries().map(({ message }) => message)))
  }
}

/** What an event adds to the history, now or when its step ends. */
function messagesOf(event: SessionEvent): readonly Message[] {
  switch (event.type) {
    case 'user/message':
    case 'context/message': return [event.data.message]
    case 'assistant/message': return event.data.message.content.length > 0 ? [event.data.message] : []
    case 'tool/result': return [event.data.message, ...(event.data.additionalContext ?? []).map(({ message }) => message)]
    default: return []
  }
}
