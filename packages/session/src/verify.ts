import { type Digest, EMPTY_CHAIN, HeadraceError } from '@headrace/message'
import { checkEvent } from './check.ts'
import { LogError } from './error.ts'
import type { SessionEvent } from './event.ts'
import { Fold } from './fold.ts'
import { partsAt, proveRequest } from './rebuild.ts'

/** Something in a log that is not as it was recorded. */
export interface Difference {
  readonly seq: number
  readonly what: string
}

/** What `verify()` found. */
export interface Verification {
  readonly events: number
  /** Requests that were rebuilt and compared. */
  readonly requests: number
  /** Messages of the history. */
  readonly messages: number
  /** The last chain; with a difference, the last that was equal. Kept elsewhere, it also proves that nobody recomputed the log. */
  readonly chain: Digest
  /** The first difference; absent where every request rebuilds as it was recorded. */
  readonly difference?: Difference
}

/** Rebuilds every request of a log while it is fed, one event at a time, in memory bounded by what the model saw. */
export class Verifier {
  private readonly fold = new Fold()
  private session = ''
  private requests = 0
  private lastProof = -1
  private lastChain: Digest = EMPTY_CHAIN

  /** @throws LogError at the first difference, or where the log is not well-formed */
  feed(event: SessionEvent): void {
    if (event.type === 'session/open') this.session = event.data.id
    const { surface } = this.fold
    if (event.type === 'step/end') {
      const closing = surface.closingChain()
      this.compare(event.seq, 'history at the end of the step', closing, event.data.digest)
      this.lastChain = closing
    }
    this.fold.apply(event)
    if (event.type !== 'request/dispatch') return
    const { header, side } = partsAt(this.fold, this.session, event.seq, event.data)
    const { history, digest } = proveRequest(header, surface.chain(), side)
    this.compare(event.seq, 'history', history, event.data.history)
    this.compare(event.seq, 'request', digest, event.data.digest)
    this.lastChain = surface.chain()
    this.requests++
  }

  /** What has been found so far. */
  result(difference?: Difference): Verification {
    const { surface, length } = this.fold
    const chain = difference ? this.lastChain : surface.chain()
    return { events: length, requests: this.requests, messages: surface.length, chain, ...(difference && { difference }) }
  }

  private compare(seq: number, what: string, rebuilt: Digest, recorded: Digest): void {
    if (rebuilt !== recorded) {
      const proven = this.lastProof < 0 ? 'nothing' : `everything up to event ${this.lastProof}`
      throw new LogError(`the ${what} rebuilds as ${rebuilt}, but ${recorded} was recorded; something in events ${this.lastProof + 1} to ${seq} was changed; ${proven} is proven`, seq, 'LOG_DIFFERS')
    }
    this.lastProof = seq
  }
}

/** Rebuilds every request of a log and compares it with what was recorded. Never throws for what is in the log. */
export function verify(events: Iterable<SessionEvent>): Verification {
  const verifier = new Verifier()
  let seq = 0
  try {
    for (const event of events) {
      verifier.feed(checkEvent(event))
      seq = event.seq + 1
    }
  } catch (error) {
    // A RangeError: nested too deeply to be written as JSON again.
    if (!(error instanceof HeadraceError || error instanceof RangeError)) throw error
    return verifier.result({ seq: error instanceof LogError ? (error.seq ?? seq) : seq, what: error.message })
  }
  return verifier.result()
}

/** A second fold, fed the serialised events, that checks each request before it leaves: what is in memory and what is in the log agree. */
export class Witness {
  private readonly fold = new Fold()
  private readonly session: string

  constructor(session: string) {
    this.session = session
  }

  /** Takes the next event, as it was serialised. */
  feed(json: string): void {
    this.fold.apply(JSON.parse(json) as SessionEvent)
  }

  /** @throws LogError where the request about to leave is not what the log says */
  check(dispatch: SessionEvent<'request/dispatch'>): void {
    const { header, side } = partsAt(this.fold, this.session, dispatch.seq, dispatch.data)
    const { digest } = proveRequest(header, this.fold.surface.chain(), side)
    if (digest !== dispatch.data.digest) throw new LogError(`the request rebuilds from the log as ${digest}, not as ${dispatch.data.digest}; it was not sent (L1)`, dispatch.seq, 'LOG_DIFFERS')
  }
}
