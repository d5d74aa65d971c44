import type { CallConfig, ConfigField, Message, Owner, RequestHeader, ToolSchema } from '@headrace/message'
import { adoptJson, copyJson, copyList, defined, sameValue } from '@headrace/message'
import { LogError } from './error.ts'

/**
 * A system section as a part of `EpochHeader.system`: who added it, and its length in UTF-16 units. Sections are joined
 * by a blank line.
 */
export interface SectionOwner {
  readonly owner: Owner
  readonly length: number
}

/** The owners of each part of a header. Kept beside what the model sees: part of the round trip, not of digests (L14). */
export interface HeaderOwners {
  readonly config?: Readonly<Partial<Record<ConfigField, Owner>>>
  readonly system?: readonly SectionOwner[]
  readonly tools?: Readonly<Record<string, Owner>>
  readonly prefix?: readonly Owner[]
  readonly before?: readonly Owner[]
  readonly after?: readonly Owner[]
}

/** Everything in a request that is not history, with owners. */
export interface EpochHeader extends RequestHeader {
  readonly owners: HeaderOwners
}

/** Fields that a header event may point to instead of repeating them. */
export const SHARED_FIELDS = ['system', 'tools', 'prefix', 'before', 'after'] as const
/** A field that a header may point to, where an earlier header carried it. */
export type SharedField = (typeof SHARED_FIELDS)[number]
/** The fields of a header, in their order. */
export const HEADER_FIELDS = ['config', ...SHARED_FIELDS] as const

/** Stands for a field that the header event `in` carries in full. */
export interface FieldRef {
  readonly in: number
}

/** Why a whole header was written. */
export type HeaderReason = 'initial' | 'resume' | 'fork' | 'fallback'

/** `request/header`: a whole header. */
export interface HeaderData {
  readonly reason: HeaderReason
  readonly header: { readonly config: CallConfig } & { readonly [F in SharedField]?: NonNullable<EpochHeader[F]> | FieldRef }
  readonly owners: HeaderOwners
  readonly substitute?: true
}

/** The lines of `system` between the first `head` and the last `tail` lines of the base become `lines`. */
export interface SystemDelta {
  readonly head: number
  readonly tail: number
  readonly lines: readonly string[]
}

/** Tools keyed by name: `set` adds or changes, `remove` takes away. */
export interface ToolsDelta {
  readonly set?: readonly ToolSchema[]
  readonly remove?: readonly string[]
}

/** What changed. An empty string or array is the transition to absence; owners are keyed (`null` removes) or whole, as in the header. */
export interface HeaderDelta {
  readonly config?: CallConfig
  readonly system?: SystemDelta | ''
  readonly tools?: ToolsDelta | readonly []
  readonly before?: readonly Message[] | FieldRef
  readonly after?: readonly Message[] | FieldRef
  readonly owners?: {
    readonly config?: Readonly<Record<string, Owner | null>>
    readonly system?: readonly SectionOwner[]
    readonly tools?: Readonly<Record<string, Owner | null>>
    readonly before?: readonly Owner[]
    readonly after?: readonly Owner[]
  }
}

/** `request/header-delta`. */
export interface HeaderDeltaData {
  readonly delta: HeaderDelta
  readonly substitute?: true
}

/**
 * The delta that turns one header into the other: `undefined` where nothing changed, `'fallback'` where a delta cannot say it
 * (tools in another order than by name, a new prefix) and a whole header must be written. Verified by applying it (L9).
 */
export function diffHeader(from: EpochHeader, to: EpochHeader): HeaderDelta | 'fallback' | undefined {
  const base = toHeader(from)
  const next = toHeader(to)
  if (base === next) return undefined
  if (!sameValue(base.prefix, next.prefix) || !sameValue(base.owners.prefix, next.owners.prefix)) return 'fallback'
  const owners = defined({
    config: diffKeyed(base.owners.config, next.owners.config),
    system: diffWhole(base.owners.system, next.owners.system),
    tools: diffKeyed(base.owners.tools, next.owners.tools),
    before: diffWhole(base.owners.before, next.owners.before),
    after: diffWhole(base.owners.after, next.owners.after),
  })
  const delta: HeaderDelta = defined({
    config: sameValue(base.config, next.config) ? undefined : next.config,
    system: diffSystem(base.system, next.system),
    tools: diffTools(base.tools, next.tools),
    before: diffWhole(base.before, next.before),
    after: diffWhole(base.after, next.after),
    owners: Object.keys(owners).length === 0 ? undefined : owners,
  })
  if (Object.keys(delta).length === 0) return undefined
  return sameHeader(applyHeaderDelta(base, delta), next) ? delta : 'fallback'
}

/** The header that a delta leads to, as {@link toHeader} gives it. References must have been resolved, as the fold does. */
export function applyHeaderDelta(base: EpochHeader, delta: HeaderDelta): EpochHeader {
  const owners = delta.owners ?? {}
  return toHeader(defined({
    config: delta.config ?? base.config,
    system: delta.system === undefined ? base.system : applySystem(base.system, delta.system),
    tools: delta.tools === undefined ? base.tools : applyTools(base.tools, delta.tools),
    prefix: base.prefix,
    before: delta.before === undefined ? base.before : whole(delta.before),
    after: delta.after === undefined ? base.after : whole(delta.after),
    owners: defined({
      config: applyKeyed(base.owners.config, owners.config),
      system: owners.system === undefined ? base.owners.system : nonEmpty(owners.system),
      tools: applyKeyed(base.owners.tools, owners.tools),
      prefix: base.owners.prefix,
      before: owners.before === undefined ? base.owners.before : nonEmpty(owners.before),
      after: owners.after === undefined ? base.owners.after : nonEmpty(owners.after),
    }),
  }))
}

/** Code-unit order, the same in every locale. */
export function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function nonEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list
}

function diffWhole<T>(base: readonly T[] | undefined, next: readonly T[] | undefined): readonly T[] | undefined {
  return sameValue(base, next) ? undefined : (next ?? [])
}

function whole<T>(value: readonly T[] | FieldRef): readonly T[] | undefined {
  if ('in' in value) throw new TypeError(`the reference to event ${value.in} was not resolved`)
  return nonEmpty(value)
}

function diffKeyed(
  base: Readonly<Record<string, Owner>> = {},
  next: Readonly<Record<string, Owner>> = {},
): Record<string, Owner | null> | undefined {
  if (base === next) return undefined
  const entries: [string, Owner | null][] = []
  for (const key of Object.keys(base)) if (!Object.hasOwn(next, key)) entries.push([key, null])
  for (const [key, owner] of Object.entries(next))
    if (!Object.hasOwn(base, key) || base[key] !== owner) entries.push([key, owner])
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function applyKeyed(
  base: Readonly<Record<string, Owner>> | undefined, delta: Readonly<Record<string, Owner | null>> | undefined,
): Record<string, Owner> | undefined {
  if (delta === undefined) return base
  const entries = new Map(Object.entries(base ?? {}))
  for (const [key, owner] of Object.entries(delta)) {
    if (owner === null) entries.delete(key)
    else entries.set(key, owner)
  }
  return entries.size === 0 ? undefined : Object.fromEntries(entries)
}

function diffSystem(base: string | undefined, next: string | undefined): SystemDelta | '' | undefined {
  if (base === next) return undefined
  if (next === undefined) return ''
  const from = base === undefined ? [] : base.split('\n')
  const to = next.split('\n')
  const most = Math.min(from.length, to.length)
  let head = 0
  while (head < most && from[head] === to[head]) head++
  let tail = 0
  while (tail < most - head && from[from.length - 1 - tail] === to[to.length - 1 - tail]) tail++
  return { head, tail, lines: to.slice(head, to.length - tail) }
}

function applySystem(base: string | undefined, delta: SystemDelta | ''): string | undefined {
  if (delta === '') return undefined
  const from = base === undefined ? [] : base.split('\n')
  // Reusing a line twice would let a small log expand without bound.
  if (delta.head + delta.tail > from.length) throw new LogError(`a system delta keeps ${delta.head + delta.tail} lines of ${from.length}`)
  return [...from.slice(0, delta.head), ...delta.lines, ...from.slice(from.length - delta.tail)].join('\n')
}

function diffTools(base: readonly ToolSchema[] | undefined, next: readonly ToolSchema[] | undefined): ToolsDelta | readonly [] | undefined {
  if (sameValue(base, next)) return undefined
  if (next === undefined) return []
  const known = new Map(base?.map((tool) => [tool.name, tool]))
  const set = next.filter((tool) => !sameValue(known.get(tool.name), tool))
  const names = new Set(next.map((tool) => tool.name))
  const remove = [...known.keys()].filter((name) => !names.has(name))
  return defined({ set: nonEmpty(set), remove: nonEmpty(remove) })
}

function applyTools(base: readonly ToolSchema[] | undefined, delta: ToolsDelta | readonly []): readonly ToolSchema[] | undefined {
  if (Array.isArray(delta)) return undefined
  const { set = [], remove = [] } = delta as ToolsDelta
  const tools = new Map(base?.map((tool) => [tool.name, tool]))
  for (const name of remove) tools.delete(name)
  for (const tool of set) tools.set(tool.name, tool)
  return nonEmpty([...tools.values()].sort((a, b) => byCodeUnits(a.name, b.name)))
}

/** Equal in everything a model sees, and in owners; keyed owners may be in any order. */
export function sameHeader(a: EpochHeader, b: EpochHeader): boolean {
  return HEADER_FIELDS.every((field) => sameValue(a[field], b[field]))
    && OWNER_LISTS.every((field) => sameValue(a.owners[field], b.owners[field]))
    && diffKeyed(a.owners.config, b.owners.config) === undefined
    && diffKeyed(a.owners.tools, b.owners.tools) === undefined
}

const OWNER_LISTS = ['system', 'prefix', 'before', 'after'] as const

/** What {@link toHeader} returned. */
const headers = new WeakSet<EpochHeader>()

/** A canonical, deep-frozen copy: empty fields absent (L10). Values that are copies of ours already are reused. */
export function toHeader(header: EpochHeader): EpochHeader {
  if (headers.has(header)) return header
  const { config, system, tools, prefix, before, after, owners } = header
  const list = <T>(value: readonly T[] | undefined, at: string): readonly T[] | undefined => value && nonEmpty(copyList(value, at))
  const keyed = <T extends object>(value: T | undefined, at: string): T | undefined =>
    (value && Object.keys(value).length > 0 ? copyJson(value, at) : undefined)
  // Every part is our copy already; only the two outer objects are new.
  const copy: EpochHeader = adoptJson(defined({
    config: copyJson(config, 'header.config'),
    system: system === undefined || system === '' ? undefined : copyJson(system, 'header.system'),
    tools: list(tools, 'header.tools'),
    prefix: list(prefix, 'header.prefix'),
    before: list(before, 'header.before'),
    after: list(after, 'header.after'),
    owners: defined({
      config: keyed(owners.config, 'owners.config'),
      system: list(owners.system, 'owners.system'),
      tools: keyed(owners.tools, 'owners.tools'),
      prefix: list(owners.prefix, 'owners.prefix'),
      before: list(owners.before, 'owners.before'),
      after: list(owners.after, 'owners.after'),
    }),
  }))
  headers.add(copy)
  return copy
}
