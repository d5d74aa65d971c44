import { type Digest, EMPTY_CHAIN, HeadraceError, messageOf, sha256 } from '@headrace/message'
import { blobsOf } from './blobs.ts'
import { checkEvent } from './check.ts'
import { Coordinates } from './coordinates.ts'
import { LogError } from './error.ts'
import type { SessionEvent } from './event.ts'
import { Fold } from './fold.ts'
import { partsAt, proveRequest } from './rebuild.ts'
import type { SessionStore } from './store.ts'

/** A place where a log does not rebuild as it was recorded. */
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
  /** The last chain digest; with a difference, the last equal one. Kept elsewhere, it also proves that nobody recomputed the log. */
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
  private isOther = false
  private passed = 0
  private lastChain: Digest = EMPTY_CHAIN

  /** @throws LogError at the first difference, or where the log is not well-formed */
  feed(event: SessionEvent): void {
    const [first] = this.inspect(event)
    if (first) throw first
  }

  /**
   * The same, for one who wants all of them: gives the event's differences, and takes the next event whatever they are. Where the history
   * is another, so is all that is rebuilt behind it: nothing is compared then, `uncompared` counts what was not.
   *
   * @throws LogError where the log is not well-formed: what comes behind that cannot be rebuilt
   */
  inspect(event: SessionEvent): readonly LogError[] {
    if (event.type === 'session/open') this.session = event.data.id
    const found: LogError[] = []
    const note = (work: () => void): void => {
      try {
        work()
      } catch (error) {
        if (!(error instanceof LogError && error.code === 'LOG_DIFFERS')) throw error
        found.push(error)
      }
    }
    note(() => this.coordinates.check(event, this.fold.ledger))
    this.fold.apply(event)
    if (event.type === 'step/end') note(() => this.compareStep(event))
    if (event.type === 'request/dispatch') note(() => this.compareRequest(event))
    return found
  }

  /** Requests that were not compared: the history in front of them is another. */
  get uncompared(): number {
    return this.passed
  }

  private compareStep({ seq, data }: SessionEvent<'step/end'>): void {
    if (this.isOther) return
    const chain = this.fold.surface.chain()
    this.compareHistory(seq, 'history at the end of the step', chain, data.digest)
    this.lastChain = chain
  }

  private compareRequest({ seq, data }: SessionEvent<'request/dispatch'>): void {
    if (this.isOther) {
      this.passed++
      return
    }
    const { header, side } = partsAt(this.fold, this.session, seq, data)
    const chain = this.fold.surface.chain()
    const { history, digest } = proveRequest(header, chain, side)
    this.compareHistory(seq, 'history', history, data.history)
    this.compare(seq, 'request', digest, data.digest)
    this.lastChain = chain
    this.requests++
  }

  /** What has been found so far. */
  result(difference?: Difference): Verification {
    const { surface, length } = this.fold
    if (length === 0) difference ??= { seq: 0, what: 'there is no event: nothing was acknowledged, or this is no log' }
    const chain = difference ? this.lastChain : surface.chain()
    return { events: length, requests: this.requests, messages: surface.length, chain, ...(difference && { difference }) }
  }

  private compareHistory(seq: number, what: string, rebuilt: Digest, recorded: Digest): void {
    this.isOther = rebuilt !== recorded
    this.compare(seq, what, rebuilt, recorded)
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
  /** Further differences, in the order of their events: as many as {@link MOST_DIFFERENCES}. */
  readonly more?: readonly Difference[]
  /** With a difference, what could not be looked at because of it. */
  readonly unseen?: Unseen
}

/** What was left out behind a difference. */
export interface Unseen {
  /** Differences that are not listed. */
  readonly differences?: number
  /** Requests that were not compared, for the history in front of them is another. */
  readonly requests?: number
  /** Events that were not rebuilt, for one in front of them cannot be: their blobs were looked at. */
  readonly events?: number
  /** Why nothing was read from some event on. */
  readonly unread?: string
}

/** How many further differences are listed. */
export const MOST_DIFFERENCES = 20

/**
 * {@link verify}, for a log in its place, and its blobs: each that an event names is there, with that digest. Goes on behind a difference
 * as far as it can. In memory bounded by what the model saw.
 *
 * @throws SessionNotFoundError, StoreError, LogError for a log that cannot be read and has no difference before
 */
export async function verifyLog(source: Pick<SessionStore, 'load' | 'getBlob'>, id: string): Promise<LogVerification> {
  const survey = new Survey()
  let failure: { readonly error: unknown } | undefined
  try {
    for await (const batch of source.load(id)) for (const event of batch) survey.take(event)
  } catch (error) {
    failure = { error }
  }
  for (const [digest, seq] of survey.named) {
    const what = await blobProblem(source, id, digest)
    if (what !== undefined) survey.add({ seq, what })
  }
  if (failure && !survey.hasFound) throw failure.error
  return survey.result(failure && messageOf(failure.error))
}

/** Checks all of a log, whatever is wrong in it. */
class Survey {
  /** The blobs that are named, with the seq of the first event that names them. */
  readonly named = new Map<Digest, number>()
  private readonly verifier = new Verifier()
  private readonly found: Difference[] = []
  private unlisted = 0
  private next = 0
  /** Events behind one that cannot be rebuilt. */
  private unbuilt: number | undefined

  get hasFound(): boolean {
    return this.found.length > 0
  }

  take(event: SessionEvent): void {
    if (this.unbuilt === undefined) this.rebuild(event)
    else this.unbuilt++
    for (const digest of blobsOf(event)) if (!this.named.has(digest)) this.named.set(digest, event.seq)
    this.next = event.seq + 1
  }

  add(difference: Difference): void {
    if (this.found.length <= MOST_DIFFERENCES) this.found.push(difference)
    else this.unlisted++
  }

  result(unread: string | undefined): LogVerification {
    const [first, ...more] = this.found.sort((a, b) => a.seq - b.seq)
    const { uncompared } = this.verifier
    const unseen: Unseen = {
      ...(this.unlisted > 0 && { differences: this.unlisted }),
      ...(uncompared > 0 && { requests: uncompared }),
      ...(this.unbuilt !== undefined && this.unbuilt > 0 && { events: this.unbuilt }),
      ...(unread !== undefined && { unread }),
    }
    return {
      ...this.verifier.result(first),
      blobs: this.named.size,
      ...(more.length > 0 && { more }),
      ...(Object.keys(unseen).length > 0 && { unseen }),
    }
  }

  private rebuild(event: SessionEvent): void {
    const fatal = attempt(() => {
      for (const error of this.verifier.inspect(event)) this.add(differenceOf(error, this.next))
    }, this.next)
    if (!fatal) return
    this.add(fatal)
    this.unbuilt = 0
  }
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
    return differenceOf(error, next)
  }
}

function differenceOf(error: HeadraceError | RangeError, next: number): Difference {
  return { seq: error instanceof LogError ? (error.seq ?? next) : next, what: error.message }
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
