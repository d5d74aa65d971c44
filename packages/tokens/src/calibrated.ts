import { type Digest, type ToolSchema, type Usage, chainOf, digestOf } from '@headrace/message'
import type { Countable, RequestCount, TokenCounter, Weights } from './counter.ts'
import { sumUp } from './plain.ts'

export interface CalibratedCounter extends TokenCounter {
  /** Why the last billed usage was dropped, for people; absent while none was. */
  readonly dropped: string | undefined
}

/** Billed usage of a request, and what identifies requests that begin like it. */
interface Bill {
  readonly tokens: number
  /** The base counter's estimate of the same request: the difference is what is learned. */
  readonly estimate: number
  readonly context: Digest | undefined
  readonly system: string
  readonly tools: readonly ToolSchema[] | undefined
  readonly toolsChain: Digest
  /** Of prefix, before and history; `after` is not carried over. */
  readonly messages: readonly Digest[]
}

/**
 * Bills kept, one a session and model, so that one counter may serve an app, and a substitute does not unteach the
 * model it stands in for.
 */
const MAX_BILLS = 64

/**
 * Counts a request as what was billed for its beginning and the base counter's estimate of what is new.
 *
 * A bill is for the whole request, its RunContext included. It is dropped when a request of that session and model comes
 * with another context digest (none is one, too), another system text, other tools, or messages that do not begin with the
 * billed ones; then, and until the next bill, the base counter's estimate stands.
 */
export function calibratedCounter(base: TokenCounter): CalibratedCounter {
  const bills = new Map<string, Bill>()
  let dropped: string | undefined

  function recordUsage(request: Countable, usage: Usage, { contextDigest }: { readonly contextDigest?: Digest } = {}): void {
    // A provider that reports no usage sends zeros: nothing to learn from.
    if (!Number.isFinite(usage.input) || usage.input <= 0) return
    const key = keyOf(request)
    bills.delete(key)
    bills.set(key, {
      tokens: usage.input,
      estimate: base.countRequest(request).total,
      context: contextDigest,
      system: request.system ?? '',
      tools: request.tools,
      toolsChain: chainOf(request.tools),
      messages: request.messages.slice(0, lasting(request)).map(digestOf),
    })
    for (const oldest of bills.keys()) if (bills.size > MAX_BILLS) bills.delete(oldest)
  }

  function countRequest(request: Countable, weights: Weights = {}): RequestCount {
    const terms = base.countRequest(request, weights)
    const bill = bills.get(keyOf(request))
    if (!bill) return terms
    const problem = differs(bill, request, weights.context?.digest)
    if (problem !== undefined) {
      bills.delete(keyOf(request))
      dropped = problem
      return terms
    }
    // Both estimates weigh everything alike, so what was billed cancels out and only what is new remains.
    const added = base.countRequest(request).total - bill.estimate
    return sumUp({ ...terms, correction: bill.tokens + added - terms.total })
  }

  return {
    name: `calibrated(${base.name})`,
    countText: (text) => base.countText(text),
    countMessages: (messages) => base.countMessages(messages),
    countRequest,
    recordUsage,
    invalidate(reason) {
      if (bills.size > 0) dropped = reason
      bills.clear()
    },
    get dropped() {
      return dropped
    },
  }
}

function differs(bill: Bill, request: Countable, context: Digest | undefined): string | undefined {
  if (bill.context !== context) return `the context changed from ${short(bill.context)} to ${short(context)}`
  if (bill.system !== (request.system ?? '')) return 'the system text differs from the billed one'
  if (bill.tools !== request.tools && bill.toolsChain !== chainOf(request.tools)) return 'the tools differ from the billed ones'
  if (lasting(request) < bill.messages.length) return `there are ${lasting(request)} messages, fewer than the ${bill.messages.length} billed`
  for (const [index, digest] of bill.messages.entries()) {
    const message = request.messages[index]
    if (!message || digestOf(message) !== digest) return `message ${index} differs from the billed one`
  }
  return undefined
}

function lasting({ messages, segments }: Countable): number {
  return messages.length - segments.after
}

function keyOf({ session = '', config }: Countable): string {
  return JSON.stringify([session, config?.model])
}

function short(digest: Digest | undefined): string {
  return digest === undefined ? 'none' : digest.slice(0, 8)
}
