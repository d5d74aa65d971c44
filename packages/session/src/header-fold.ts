import type { CallConfig, ConfigField, Message, Owner } from '@headrace/message'
import { adoptJson, chainOf, digestOf } from '@headrace/message'
import { LogError } from './error.ts'
import type { EventDraft, SessionEvent } from './event.ts'
import { type EpochHeader, type FieldRef, type HeaderData, type HeaderDelta, type HeaderReason, SHARED_FIELDS, type SharedField, applyHeaderDelta, diffHeader, toHeader } from './header.ts'

/** A config and who set each of its fields. */
export interface OwnedConfig {
  readonly config: CallConfig
  readonly owners: Readonly<Partial<Record<ConfigField, Owner>>>
}

type Carried = NonNullable<EpochHeader[SharedField]>
type SharedFields = { readonly [F in SharedField]?: Carried | FieldRef | undefined }
type HeaderDraft = EventDraft<'request/header' | 'request/header-delta'>

/** The header folded from a log, one event at a time; also writes the events that lead from one header to the next. */
export class HeaderFold {
  /** The header of the last request; with a substitute's config while that is the last. */
  header: EpochHeader | undefined
  /** The last config that was no substitute: what seeds and the resume baseline start from. */
  baseline: OwnedConfig | undefined
  private substituted = false
  /** The fields of each header event, by seq: one copy in memory as in the log. */
  private readonly events = new Map<number, SharedFields>()
  /** The first event that carried each value, by field and digest; digests are computed lazily. */
  private readonly carriers = new Map<string, number>()
  private readonly undigested: number[] = []

  /**
   * Applies an event; only header events matter. @throws LogError for a dangling reference, a delta
   * without a header, a prefix delta
   */
  apply(event: SessionEvent): void {
    if (event.type === 'request/header') this.applySnapshot(event.data, event.seq)
    else if (event.type === 'request/header-delta') this.applyDelta(event.data.delta, event.seq)
    else return
    const { config, owners } = this.header!
    this.substituted = event.data.substitute === true
    if (!this.substituted) this.baseline = { config, owners: owners.config ?? {} }
  }

  private applySnapshot(data: HeaderData, seq: number): void {
    const { header, owners } = data
    const resolved: Record<string, unknown> = { config: adoptJson(header.config), owners }
    for (const field of SHARED_FIELDS) resolved[field] = this.resolve(field, header[field], seq)
    this.header = toHeader(resolved as unknown as EpochHeader)
    this.carry(header, seq)
  }

  private applyDelta(delta: HeaderDelta, seq: number): void {
    if (!this.header) throw new LogError('a header delta without a header before it', seq)
    if ('prefix' in delta) throw new LogError('a delta of the prefix, which is frozen (L5)', seq)
    const before = this.resolve('before', delta.before, seq) as readonly Message[] | undefined
    const after = this.resolve('after', delta.after, seq) as readonly Message[] | undefined
    if (delta.config) adoptJson(delta.config)
    this.header = applyHeaderDelta(this.header, { ...delta, ...(before && { before }), ...(after && { after }) })
    // Not system and tools: a delta carries only what changed in them.
    if (before || after) this.carry({ before: delta.before, after: delta.after }, seq)
  }

  /** The value in the event, or in the event that it refers to. A freshly parsed value is adopted without a copy. */
  private resolve(field: SharedField, value: Carried | FieldRef | undefined, seq: number): Carried | undefined {
    if (value === undefined) return undefined
    if (!isRef(value)) return adoptJson(value)
    const found = this.events.get(value.in)?.[field]
    if (found === undefined || isRef(found) || found.length === 0) throw new LogError(`its ${field} is said to stand in event ${value.in}, which does not carry one`, seq)
    return found
  }

  private carry(fields: SharedFields, seq: number): void {
    this.events.set(seq, fields)
    this.undigested.push(seq)
  }

  private carrierOf(field: SharedField, value: Carried): number | undefined {
    for (const seq of this.undigested.splice(0)) {
      const fields = this.events.get(seq)!
      for (const name of SHARED_FIELDS) {
        const carried = fields[name]
        if (carried === undefined || isRef(carried) || carried.length === 0) continue
        const key = carrierKey(name, carried)
        if (!this.carriers.has(key)) this.carriers.set(key, seq)
      }
    }
    return this.carriers.get(carrierKey(field, value))
  }

  /**
   * The header event that is owed before a request with `next` may leave (L8): a snapshot where `anchor` gives a reason or a delta
   * cannot say it, a delta where something changed, none where nothing did.
   */
  owed(next: EpochHeader, anchor?: Exclude<HeaderReason, 'fallback'>, substitute?: true): HeaderDraft | undefined {
    const header = toHeader(next)
    const reason = anchor ?? (this.header ? undefined : 'initial')
    // A substitute's config that becomes permanent is logged again, so that the baseline has it.
    const kept: HeaderDelta | undefined = this.substituted && !substitute ? { config: header.config } : undefined
    const delta = reason ? 'fallback' : (diffHeader(this.header!, header) ?? kept)
    if (delta === undefined) return undefined
    if (delta !== 'fallback') return { type: 'request/header-delta', data: { delta: this.share(delta, ['before', 'after']), ...(substitute && { substitute }) } }
    const { owners, ...fields } = header
    const data: HeaderData = { reason: reason ?? 'fallback', header: this.share(fields, SHARED_FIELDS), owners, ...(substitute && { substitute }) }
    return { type: 'request/header', data }
  }

  /** Writes `{ in: seq }` for a value that an earlier header event carries. */
  private share<T extends object>(fields: T, names: readonly (keyof T & SharedField)[]): T {
    const refs: { [field: string]: FieldRef } = {}
    for (const field of names) {
      const value = fields[field] as Carried | undefined
      const seq = value === undefined ? undefined : this.carrierOf(field, value)
      if (seq !== undefined) refs[field] = { in: seq }
    }
    return { ...fields, ...refs }
  }
}

/** The header after the given events of a log; `undefined` where none was recorded. */
export function foldRequestHeader(events: Iterable<SessionEvent>): EpochHeader | undefined {
  const fold = new HeaderFold()
  for (const event of events) fold.apply(event)
  return fold.header
}

/** The digests that prove a request anyway. */
function carrierKey(field: SharedField, value: Carried): string {
  return `${field}:${typeof value === 'string' ? digestOf(value) : chainOf(value)}`
}

function isRef(value: unknown): value is FieldRef {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'in' in value
}
