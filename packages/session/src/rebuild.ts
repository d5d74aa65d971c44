import { type Digest, type Owner, type Request, adoptJson, chain, defined, digestOf, requestDigest, requestDigests } from '@headrace/message'
import { type Dispatch, type SessionEvent, type Signed } from './event.ts'
import type { EpochHeader } from './header.ts'
import { Fold } from './fold.ts'
import { checkEvent } from './check.ts'
import { LogError } from './error.ts'
import type { Entry, HistorySnapshot } from './surface.ts'

/** A request without its signal: plain data. */
export type RequestData = Omit<Request, 'signal'>

/** What a request is assembled from: a folded header, a history as of its boundary, and what a side request adds. */
export interface RequestParts {
  readonly session: string
  readonly dispatch: number
  readonly header: EpochHeader
  readonly history: HistorySnapshot
  readonly side?: Pick<Dispatch, 'messages' | 'config' | 'tools'>
  /** The session that the log began in, where that is another. */
  readonly root?: string
}

/**
 * The header of a dispatch: a side request has no `after`, and may differ in config and tools. The `output` of a prompt's config
 * does not apply to it.
 */
export function effectiveHeader(header: EpochHeader, side?: Pick<Dispatch, 'config' | 'tools'>): EpochHeader {
  if (!side) return header
  const { after: _after, tools, config: whole, ...rest } = header
  const { output, ...without } = whole
  const isSame = output === undefined && !side.config
  const config = isSame ? whole : adoptJson({ ...without, ...side.config })
  return defined({ ...rest, config, tools: side.tools === 'none' ? undefined : tools })
}

/** Assembles a request from its parts. `messages`, `owners` and `writers` are made when they are first read; all is frozen. */
export function assembleRequest({ session, dispatch, header: folded, history, side, root = session }: RequestParts): RequestData {
  const header = effectiveHeader(folded, side)
  const { prefix = [], before = [], after = [], owners } = header
  const extra: readonly Signed[] = adoptJson(side?.messages ?? [])
  const segments = Object.freeze({
    prefix: prefix.length,
    before: before.length,
    history: history.length + extra.length,
    after: after.length,
  })
  const ownersOf = (field: 'prefix' | 'before' | 'after', length: number): readonly Owner[] => Array.from({ length }, (_, index) => owners[field]?.[index] ?? 'loop')
  // Allocated once: it is as long as the history, and adapters read it at every step.
  const whole = <T>(front: readonly T[], pick: (signed: Signed & Partial<Entry>) => T, back: readonly T[]): readonly T[] => {
    const list = new Array<T>(front.length + segments.history + back.length)
    let next = 0
    for (const item of front) list[next++] = item
    for (let index = 0; index < history.length; index++) list[next++] = pick(history.entries[index]!)
    for (const signed of extra) list[next++] = pick(signed)
    for (const item of back) list[next++] = item
    return list
  }
  const request = defined({ session, dispatch, config: header.config, system: header.system, tools: header.tools, segments, root })
  lazy(request, 'messages', () => whole([...prefix, ...before], (entry) => entry.message, after))
  lazy(request, 'owners', () => whole([...ownersOf('prefix', prefix.length), ...ownersOf('before', before.length)], (entry) => entry.owner, ownersOf('after', after.length)))
  lazy(request, 'writers', () => whole<string | undefined>(none(prefix.length + before.length), (entry) => entry.writer, none(after.length)))
  return request as typeof request & Pick<Request, 'messages' | 'owners' | 'writers'>
}

function none(length: number): readonly undefined[] {
  return new Array<undefined>(length).fill(undefined)
}

/** An enumerable property computed on first read: a step must not pay for old history. */
function lazy<T extends object>(target: object, name: string, make: () => T): void {
  let value: T | undefined
  Object.defineProperty(target, name, { enumerable: true, get: () => (value ??= Object.freeze(make())) })
}

/** Chain of the history and digest of a request, from digests that are kept: costs what is new. */
export function proveRequest(header: EpochHeader, history: Digest, side?: Pick<Dispatch, 'messages' | 'config' | 'tools'>): { readonly history: Digest; readonly digest: Digest } {
  const link = (side?.messages ?? []).reduce((previous, { message }) => chain(previous, digestOf(message)), history)
  return { history: link, digest: requestDigest(requestDigests(effectiveHeader(header, side), link)) }
}

/** The parts and digests of a dispatch that a fold has just reached. */
export function partsAt(fold: Fold, session: string, seq: number, dispatch: Dispatch): RequestParts {
  const { header } = fold.headers
  if (!header) throw new LogError('a dispatch without a header before it (L8)', seq)
  const boundary = fold.surface.boundary
  if (dispatch.purpose === undefined && boundary !== dispatch.boundary) throw new LogError(`it names boundary ${dispatch.boundary}, but ${boundary === undefined ? 'no step is open' : `the open step has ${boundary}`}`, seq)
  if (dispatch.purpose !== undefined && dispatch.boundary !== (boundary ?? seq)) throw new LogError(`it names boundary ${dispatch.boundary}, but ${boundary ?? seq} holds`, seq)
  const parts = { session, dispatch: seq, header, history: fold.surface.snapshot(), root: fold.root }
  return dispatch.purpose === undefined ? parts : { ...parts, side: dispatch }
}

/**
 * Rebuilds a request from the log alone (L1).
 *
 * @param dispatch the seq of its `request/dispatch`
 * @throws LogError where the log is not well-formed up to there, or has no such dispatch
 */
export function rebuild(events: Iterable<SessionEvent>, dispatch: number): RequestData {
  const fold = new Fold()
  let session = ''
  for (const value of events) {
    const event = checkEvent(value)
    if (event.type === 'session/open') session = event.data.id
    fold.apply(event)
    if (event.seq !== dispatch) continue
    if (event.type !== 'request/dispatch') throw new LogError(`it is a ${event.type}, not a request/dispatch`, dispatch)
    return Object.freeze(assembleRequest(partsAt(fold, session, event.seq, event.data)))
  }
  throw new LogError(`the log ends at event ${fold.length - 1}; there is no event ${dispatch}`)
}
