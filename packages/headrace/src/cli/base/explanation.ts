import type { ChildNote, OverrideNote } from '@headrace/agent'
import { type Json, type Message, type Owner, type Role, callsOf } from '@headrace/message'
import { type Drift, type EpochHeader, Fold, type HeaderReason, type RequestData, type SessionEvent, assembleRequest, effectiveHeader, headerDrift, partsAt, proveRequest, sectionsOf } from '@headrace/session'
import { CommandError, UsageError } from './error.ts'

/** `asked`: the messages that a side request adds. */
export type SegmentName = 'prefix' | 'before' | 'history' | 'asked' | 'after'

export interface MessagePart extends Size {
  readonly segment: SegmentName
  readonly owner: Owner
  readonly role: Role
  readonly message: Message
}

export interface NamedPart extends Size {
  readonly name: string
  readonly owner: Owner
  readonly text: string
}

/** A session that worked for a tool call, such as a subagent's. */
export interface ChildPart {
  readonly session: string
  /** The tool that was called. */
  readonly tool: string
  /** The seq of the answer with the call, and the call's place in it. */
  readonly assistant: number
  readonly index: number
}

/** A header event between the request before and this one. */
export interface HeaderChange {
  readonly seq: number
  readonly reason: HeaderReason | 'delta'
  readonly substitute?: true
}

/** A request in its parts: who contributed each, what is new, and what was sent before. */
export interface Explanation {
  readonly session: string
  readonly cwd?: string
  readonly name: string
  readonly seq: number
  readonly dispatch: DispatchEvent['data']
  /** True where the recorded digest equals that of the rebuilt request. */
  readonly rebuilds: boolean
  readonly size: Size
  readonly end?: SessionEvent<'request/end'>['data']
  readonly config: readonly { readonly field: string; readonly value: Json; readonly owner: Owner }[]
  readonly system: readonly NamedPart[]
  readonly tools: readonly NamedPart[]
  readonly messages: readonly MessagePart[]
  readonly changes: readonly HeaderChange[]
  readonly drift: readonly Drift[]
  readonly overrides: readonly OverrideNote[]
  /** Sessions that worked for calls which it shows the results of, or that came before it. */
  readonly children: readonly ChildPart[]
  /** Against the request before; absent for the first. */
  readonly cached?: Cached
}

/** A request of the log with the header it went under. */
interface Sent {
  readonly header: EpochHeader
  readonly request: RequestData
  readonly rebuilds: boolean
}

/** Explains a request of a log. @throws LogError where the log is not well-formed up to it */
export function explainRequest(events: readonly SessionEvent[], target: DispatchEvent): Explanation {
  const earlier = events.findLast((event): event is DispatchEvent => event.type === 'request/dispatch' && event.seq < target.seq)
  const [sent, before] = rebuildBoth(events, target, earlier)
  const { request, header } = sent
  const end = endOf(events, target.seq)
  const between = events.slice((earlier?.seq ?? -1) + 1, target.seq)
  const open = events[0]
  const cached = before && cachedPart(before.request, request)
  return {
    session: open?.type === 'session/open' ? open.data.id : '',
    ...(open?.type === 'session/open' && open.data.cwd !== undefined && { cwd: open.data.cwd }),
    name: nameOf(target),
    seq: target.seq,
    dispatch: target.data,
    rebuilds: sent.rebuilds,
    size: sizeOf({ tools: request.tools, system: request.system, messages: request.messages }),
    ...(end && { end }),
    ...headerParts(header),
    messages: messageParts(request, target.data.messages?.length ?? 0),
    changes: between.flatMap(changeOf),
    drift: before ? headerDrift(before.header, header) : [],
    overrides: between.flatMap((event) => (event.type === 'agent/override' ? [event.data] : [])),
    children: events.slice(0, target.seq).flatMap((event) => (event.type === 'agent/child' ? [childPart(events, event.data)] : [])),
    ...(cached && { cached: { ...cached, against: nameOf(earlier!) } }),
  }
}

function childPart(events: readonly SessionEvent[], { session, assistant, index }: ChildNote): ChildPart {
  const answer = events[assistant]
  const call = answer?.type === 'assistant/message' ? callsOf(answer.data.message)[index] : undefined
  return { session, tool: call?.name ?? '?', assistant, index }
}

function rebuildBoth(events: readonly SessionEvent[], target: DispatchEvent, earlier: DispatchEvent | undefined): readonly [Sent, Sent?] {
  const fold = new Fold()
  const open = events[0]
  const id = open?.type === 'session/open' ? open.data.id : ''
  let before: Sent | undefined
  for (const event of events) {
    fold.apply(event)
    if (event !== earlier && event !== target) continue
    const parts = partsAt(fold, id, event.seq, event.data)
    const { digest } = proveRequest(parts.header, fold.surface.chain(), parts.side)
    const header = effectiveHeader(parts.header, parts.side)
    const sent = { header, request: assembleRequest(parts), rebuilds: digest === event.data.digest }
    // Read now: it shares the history, which keeps growing.
    void sent.request.messages
    if (event === target) return before ? [sent, before] : [sent]
    before = sent
  }
  throw new Error('the request is not in the log')
}

function endOf(events: readonly SessionEvent[], dispatch: number): SessionEvent<'request/end'>['data'] | undefined {
  for (const event of events) if (event.type === 'request/end' && event.data.dispatch === dispatch) return event.data
  return undefined
}

function headerParts(header: EpochHeader): Pick<Explanation, 'config' | 'system' | 'tools'> {
  const { config, owners } = header
  const ownerIn = (keyed: Readonly<Record<string, Owner>> | undefined, key: string): Owner => (keyed && Object.hasOwn(keyed, key) ? keyed[key]! : 'loop')
  return {
    config: Object.entries(config).map(([field, value]) => ({ field, value: value as Json, owner: ownerIn(owners.config, field) })),
    system: sectionsOf(header).map(({ owner, text }, index) => ({ name: `${index + 1}`, owner, text, ...sizeOf(text) })),
    tools: (header.tools ?? []).map((tool) => ({ name: tool.name, owner: ownerIn(owners.tools, tool.name), text: `${tool.description}\n${JSON.stringify(tool.parameters)}`, ...sizeOf(tool) })),
  }
}

function messageParts({ messages, owners, segments }: RequestData, asked: number): readonly MessagePart[] {
  const lengths: readonly (readonly [SegmentName, number])[] = [
    ['prefix', segments.prefix], ['before', segments.before], ['history', segments.history - asked], ['asked', asked], ['after', segments.after],
  ]
  const names = lengths.flatMap(([name, length]) => Array.from({ length }, () => name))
  return messages.map((message, index) => ({
    segment: names[index]!,
    owner: owners[index]!,
    role: message.role,
    message,
    ...sizeOf(message),
  }))
}

function changeOf(event: SessionEvent): readonly HeaderChange[] {
  if (event.type !== 'request/header' && event.type !== 'request/header-delta') return []
  const reason = event.type === 'request/header' ? event.data.reason : 'delta'
  return [{ seq: event.seq, reason, ...(event.data.substitute && { substitute: true }) }]
}

/** The common beginning of a request and the one before it, which a provider's cache can serve. */
export interface Cached {
  /** Name of the request before. */
  readonly against?: string
  /** Bytes of the common beginning, of tools, system and messages. */
  readonly bytes: number
  readonly of: number
  /** Where they diverge: `tools`, `system`, `message 7`, counted from 1; absent where nothing is new. */
  readonly newFrom?: string
  /** True for another provider or model, whose cache has none of this. */
  readonly otherModel?: true
}

/** The common beginning of two requests, in the order in which providers read them: tools, system, messages. */
export function cachedPart(before: RequestData, request: RequestData): Cached {
  const [from, to] = [piecesOf(before), piecesOf(request)]
  const of = to.reduce((sum, [, bytes]) => sum + bytes.length, 0)
  const otherModel = before.config.model !== request.config.model
  let bytes = 0
  let newFrom: string | undefined
  for (const [index, [name, piece]] of to.entries()) {
    const other = from[index]?.[1] ?? NOTHING
    const common = commonBytes(other, piece)
    bytes += common
    if (common === piece.length) continue
    newFrom = name
    break
  }
  return { bytes, of, ...(newFrom !== undefined && { newFrom }), ...(otherModel && { otherModel: true as const }) }
}

const NOTHING = Buffer.alloc(0)

function piecesOf({ tools, system, messages }: RequestData): readonly (readonly [name: string, bytes: Buffer])[] {
  return [
    ['tools', Buffer.from(tools ? JSON.stringify(tools) : '')],
    ['system', Buffer.from(system === undefined ? '' : JSON.stringify(system))],
    ...messages.map((message, index) => [`message ${index + 1}`, Buffer.from(JSON.stringify(message))] as const),
  ]
}

function commonBytes(a: Buffer, b: Buffer): number {
  const most = Math.min(a.length, b.length)
  let length = 0
  while (length < most && a[length] === b[length]) length++
  return length
}

/** Size of a part of a request: UTF-8 bytes of its JSON or text; tokens are estimated at four characters each. */
export interface Size {
  readonly bytes: number
  readonly tokens: number
}

export function sizeOf(value: unknown): Size {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return { bytes: Buffer.byteLength(text), tokens: Math.ceil(text.length / 4) }
}

export type DispatchEvent = SessionEvent<'request/dispatch'>

/**
 * The request that `[step]` names: `turn.step`, `turn.step.attempt` (the last one without), a step of the last turn that has requests,
 * `#seq`; without it the last request, side requests included.
 *
 * @throws UsageError for a name that is none, CommandError where there is no such request
 */
export function chooseDispatch(events: readonly SessionEvent[], step: string | undefined): DispatchEvent {
  const all = events.filter((event): event is DispatchEvent => event.type === 'request/dispatch')
  const last = all.at(-1)
  if (!last) throw new CommandError('the session has sent no request yet')
  if (step === undefined) return last
  if (/^#\d+$/.test(step)) return bySeq(events, Number(step.slice(1)))
  const path = /^\d+(\.\d+){0,2}$/.test(step) ? step.split('.').map(Number) : undefined
  if (!path) throw new UsageError(`${JSON.stringify(step)} names no request; write turn.step, turn.step.attempt, a step of the last turn, or #seq`)
  const [turn, number, attempt] = path.length === 1 ? [all.findLast(({ data }) => data.turn !== undefined)?.data.turn, path[0]] : path
  const isIt = ({ data }: DispatchEvent): boolean =>
    data.turn === turn && data.step === number && (attempt === undefined || data.attempt === attempt)
  const found = all.findLast((event) => event.data.purpose === undefined && isIt(event))
  if (!found) throw new CommandError(`there is no request ${step}; there is ${listed(all)}`)
  return found
}

function bySeq(events: readonly SessionEvent[], seq: number): DispatchEvent {
  const event = events[seq]
  if (!event) throw new CommandError(`the log ends at event ${events.length - 1}; there is no event ${seq}`)
  if (event.type !== 'request/dispatch') throw new CommandError(`event ${seq} is a ${event.type}, not a request/dispatch`)
  return event
}

function listed(all: readonly DispatchEvent[]): string {
  const names = all.map(nameOf)
  return names.length <= 12 ? names.join(', ') : `${names.slice(0, 6).join(', ')}, … ${names.slice(-6).join(', ')}`
}

/** `turn.step.attempt` of a step's request, `#seq` of a side request. */
export function nameOf({ seq, data }: DispatchEvent): string {
  return data.purpose === undefined ? `${data.turn}.${data.step}.${data.attempt}` : `#${seq}`
}
