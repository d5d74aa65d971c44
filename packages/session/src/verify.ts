import { type Digest, EMPTY_CHAIN, HeadraceError, sha256 } from '@headrace/message'
import { blobsOf } from './blobs.ts'
import { checkEvent } from './check.ts'
import { Coordinates } from './coordinates.ts'
import { LogError } from './error.ts'
import type { SessionEvent } from './event.ts'
import { Fold } from './fold.ts'
import { partsAt, proveRequest } from './rebuild.ts'
import type { SessionStore } from './store.ts'

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
  private readonly coordinates = new Coordinates()
  private session = ''
  private requests = 0
  private lastProof = -1
  private lastChain: Digest = EMPTY_CHAIN

  /** @throws LogError at the first difference, or where the log is not well-formed */
  feed(event: SessionEvent): void {
    if (event.type === 'session/open') this.session = event.data.id
    const { surface, ledger } = this.fold
    this.coordinates.check(event, ledger)
    this.fold.apply(event)
    if (event.type === 'step/end') {
      this.compare(event.seq, 'history at the end of the step', surface.chain(), event.data.digest)
      this.lastChain = surface.chain()
    }
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
    if (length === 0) difference ??= { seq: 0, what: 'there is no event: nothing was acknowledged, or this is no log' }
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
  let next = 0
  for (const event of events) {
    const difference = attempt(() => verifier.feed(checkEvent(event)), next)
    if (difference) return verifier.result(difference)
    next = event.seq + 1
  }
  return verifier.result()
}

/** What `verifyLog()` found. */
export type LogVerification = Verification & {
  /** Blobs that are named, and were looked at. */
  readonly blobs: number
}

/**
 * {@link verify}, for a log in its place, and its blobs: each that an event names is there, with that digest. In memory bounded by what
 * the model saw.
 *
 * @throws SessionNotFoundError, StoreError, LogError for a log that cannot be read
 */
export async function verifyLog(source: Pick<SessionStore, 'load' | 'getBlob'>, id: string): Promise<LogVerification> {
  const verifier = new Verifier()
  const named = new Map<Digest, number>()
  let next = 0
  for await (const batch of source.load(id)) {
    for (const event of batch) {
      const difference = attempt(() => verifier.feed(event), next)
      if (difference) return { ...verifier.result(difference), blobs: 0 }
      for (const digest of blobsOf(event)) if (!named.has(digest)) named.set(digest, event.seq)
      next = event.seq + 1
    }
  }
  for (const [digest, seq] of named) {
    const what = await blobProblem(source, id, digest)
    if (what !== undefined) return { ...verifier.result({ seq, what }), blobs: named.size }
  }
  return { ...verifier.result(), blobs: named.size }
}

async function blobProblem(source: Pick<SessionStore, 'getBlob'>, id: string, digest: Digest): Promise<string | undefined> {
  try {
    const bytes = await source.getBlob(id, digest)
    if (!bytes) return `it names the blob ${digest}, which is not there`
    return sha256(bytes) === digest ? undefined : `it names the blob ${digest}, whose bytes have another digest`
  } catch (error) {
    if (error instanceof HeadraceError && error.code === 'BLOB_DAMAGED') return error.message
    throw error
  }
}

/** The difference that this finds. */
function attempt(work: () => void, next: number): Difference | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    // A RangeError: nested too deeply to be written as JSON again.
    if (!(error instanceof HeadraceError || error instanceof RangeError)) throw error
    return { seq: error instanceof LogError ? (error.seq ?? next) : next, what: error.message }
  }
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
