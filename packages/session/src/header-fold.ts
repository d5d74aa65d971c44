import type { CallConfig, ConfigField, Owner } from '@headrace/message'
import { defined, digestOf } from '@headrace/message'
import { LogError } from './error.ts'
import type { EventDraft, SessionEvent } from './event.ts'
import { type EpochHeader, type FieldRef, type HeaderData, type HeaderDelta, type HeaderReason, SHARED_FIELDS, type SharedField, applyHeaderDelta, diffHeader, toHeader } from './header.ts'

/** A config and who set each of its fields. */
export interface OwnedConfig {
  readonly config: CallConfig
  readonly owners: Readonly<Partial<Record<ConfigField, Owner>>>
}

type HeaderDraft = EventDraft<'request/header' | 'request/header-delta'>

/** The header folded from a log, one event at a time; also writes the events that lead from one header to the next. */
export class HeaderFold {
  /** The header of the last request; with a substitute's config while that is the last. */
  header: EpochHeader | undefined
  /** The last config that was no substitute: what seeds and the resume baseline start from. */
  baseline: OwnedConfig | undefined
  /** Where each value was carried in full, by field and digest; and the value. One copy in memory as in the log. */
  private readonly carriers = new Map<string, number>()
  private readonly values = new Map<string, EpochHeader[SharedField]>()

  /** Takes in an event; all but header events are passed over. @throws LogError for a reference to nowhere, a delta without a header, a prefix delta */
  apply(event: SessionEvent): void {
    if (event.type === 'request/header') this.applySnapshot(event.data, event.seq)
    else if (event.type === 'request/header-delta') this.applyDelta(event.data.delta, event.seq)
    else return
    const { config, owners } = this.header!
    if (!event.data.substitute) this.baseline = { config, owners: owners.config ?? {} }
  }

  private applySnapshot(data: HeaderData, seq: number): void {
    const resolved: Record<string, unknown> = { config: data.header.config }
    for (const field of SHARED_FIELDS) {
      const value = data.header[field]
      if (value !== undefined) resolved[field] = this.resolve(field, value, seq)
    }
    this.header = toHeader({ ...resolved, owners: data.owners } as EpochHeader)
    for (const field of SHARED_FIELDS) this.carry(field, data.header[field], seq)
  }

  private applyDelta(delta: HeaderDelta, seq: number): void {
    if (!this.header) throw new LogError('a header delta without a header before it', seq)
    if ('prefix' in delta) throw new LogError('a delta of the prefix, which is frozen (L5)', seq)
    const resolved: HeaderDelta = defined({
      ...delta,
      before: delta.before && (this.resolve('before', delta.before, seq) as HeaderDelta['before']),
      after: delta.after && (this.resolve('after', delta.after, seq) as HeaderDelta['after']),
    })
    this.header = toHeader(applyHeaderDelta(this.header, resolved))
    for (const field of ['before', 'after'] as const) this.carry(field, delta[field], seq)
  }

  private resolve(field: SharedField, value: EpochHeader[SharedField] | FieldRef, seq: number): EpochHeader[SharedField] {
    if (!isRef(value)) return value
    const found = this.values.get(`${field}@${value.in}`)
    if (found === undefined) throw new LogError(`its ${field} is said to stand in event ${value.in}, which does not carry one`, seq)
    return found
  }

  private carry(field: SharedField, value: unknown, seq: number): void {
    if (value === undefined || isRef(value) || (Array.isArray(value) && value.length === 0)) return
    const own = this.header![field]!
    const key = `${field}:${digestOf(own)}`
    if (!this.carriers.has(key)) this.carriers.set(key, seq)
    this.values.set(`${field}@${seq}`, own)
  }

  /**
   * The header event that is owed before a request with `next` may leave (L8): a snapshot where `anchor` gives a reason or a delta
   * cannot say it, a delta where something changed, none where nothing did.
   */
  owed(next: EpochHeader, anchor?: Exclude<HeaderReason, 'fallback'>, substitute?: true): HeaderDraft | undefined {
    const header = toHeader(next)
    const reason = anchor ?? (this.header ? undefined : 'initial')
    const delta = reason ? 'fallback' : diffHeader(this.header!, header)
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
      const value = fields[field] as object | string | undefined
      const seq = value === undefined ? undefined : this.carriers.get(`${field}:${digestOf(value)}`)
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

function isRef(value: unknown): value is FieldRef {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'in' in value
}
