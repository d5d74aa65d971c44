import { type Contribution, type Owner, digestOf, isBlank, keyOf, toContribution } from '@headrace/message'
import type { OverrideNote } from '../contract/events.ts'
import { describe } from './decision-rule.ts'
import { type Hook, contributorOf, pluginOfHook } from './listener-owner.ts'
import type { Reporter } from './report.ts'
import { type Place, byPlace, compare, ownerOf } from './owner.ts'
import { Override, type SeamRule, unwrap } from './dispatch.ts'
import { isList, isPlainObject, strayKey } from './guards.ts'

/** A message that a listener contributed, with its position on the wire. */
export interface Piece extends Place {
  readonly message: Contribution
  readonly owner: Owner
  readonly source: Hook
}

/** Messages around a history, each with its owner. */
export interface Pieces {
  readonly before: readonly Piece[]
  readonly after: readonly Piece[]
}

interface Merge {
  readonly seam: string
  /** The key for contributions that were not registered through `ctx.agents.prefix()` and its siblings. */
  readonly key: string
  readonly reporter: Reporter
  /** The listener called `next()`. */
  readonly called?: boolean
  /** A decision may leave out what others returned. */
  readonly decides?: true
  /** Takes the note of an override. Default: logs it. */
  readonly override?: (note: OverrideNote) => void
}

/** Splits what a listener returned: its own messages are signed; each message of the others must be there exactly once (L15). */
export function mergeList(returned: unknown, from: Hook, below: readonly Piece[], merge: Merge): readonly Piece[] {
  const { seam, key, reporter, called, decides, override } = merge
  const plugin = pluginOfHook(from)
  const overriding = returned instanceof Override
  const list: unknown = overriding ? returned.value : returned
  if (!isList(list)) throw new TypeError(`returned ${describe(list)}, not a list of messages`)
  // The common case: the listener returns the others' list unchanged.
  if (
    !overriding &&
    (called || decides) &&
    list.length === below.length &&
    below.every((piece, index) => piece.message === list[index])
  )
    return below
  const left = new Map(below.map((piece) => [piece, piece.message]))
  const pieces: Piece[] = []
  const added: unknown[] = []
  let repeated = 0
  for (const item of list) {
    const known = [...left].find(([, message]) => message === item)?.[0]
    if (known) {
      left.delete(known)
      pieces.push(known)
    } else if (below.some((piece) => piece.message === item)) repeated++
    else added.push(item)
  }
  const contributor = contributorOf(from)
  const place = { order: contributor?.order ?? 0, plugin, key: contributor?.key ?? key }
  for (const item of added) {
    const own = keyOf(item, `${plugin}/${place.key}`)
    if (contributor && own !== undefined && own !== contributor.key) {
      throw new TypeError(`gave a contribution with the key ${JSON.stringify(own)} under ${JSON.stringify(contributor.key)}; leave the key away, or register it by itself`)
    }
    const at = own === undefined ? place : { ...place, key: own }
    const repaired = (where: string): void => reporter.report({ kind: 'repaired', plugin, seam, problem: `${where} had a lone surrogate; it was replaced` })
    const message = toContribution(item, `${plugin}/${at.key}`, repaired)
    // A copy of another listener's message counts as that message.
    const same = [...left].find(([, other]) => digestOf(other) === digestOf(message))?.[0]
    if (same) left.delete(same)
    if (!isBlank(message)) pieces.push(same ?? { ...at, message, owner: ownerOf(plugin, own ?? contributor?.key, key), source: from })
  }
  if (overriding)
    (override ?? reporter.override)({
      plugin,
      seam,
      reason: returned.reason,
      dropped: [...left.keys()].map((piece) => piece.owner),
    })
  else if (!decides) {
    if (!called) reporter.lost(plugin, seam, 'it did not call next()')
    else if (repeated > 0) reporter.lost(plugin, seam, `it repeated ${repeated} of the others' messages`)
    else if (left.size > 0)
      reporter.lost(
        plugin,
        seam,
        `it dropped what ${[...left.keys()].map((piece) => piece.owner).join(', ')} contributed`,
      )
    pieces.push(...left.keys())
  }
  return pieces
}

/**
 * Pieces in the order of the wire: `(order, plugin, key)`, ties between fibers by the digest of their first message,
 * each listener's as returned.
 */
export function wireOrder(pieces: readonly Piece[]): readonly Piece[] {
  if (pieces.length < 2) return pieces
  const groups = new Map<Hook, Piece[]>()
  for (const piece of pieces) groups.set(piece.source, [...(groups.get(piece.source) ?? []), piece])
  return [...groups.values()]
    .sort(([a], [b]) => byPlace(a!, b!) || compare(digestOf(a!.message), digestOf(b!.message)))
    .flat()
}

function messagesOf(pieces: readonly Piece[]): readonly Contribution[] {
  return Object.freeze(pieces.map((piece) => piece.message))
}

/** `agent/session-prefix`: a list of messages. */
export function prefixRule(reporter: Reporter): SeamRule<readonly Piece[]> {
  const merge: Merge = { seam: 'agent/session-prefix', key: 'prefix', reporter }
  return {
    show: messagesOf,
    async accept(returned, from, below, called) {
      const others = await below()
      return mergeList(returned, from, others, { ...merge, called })
    },
  }
}

/** A message cut to the given length, with a note of how much was left out. */
export function cutEnd(message: Contribution, limit: number): Contribution {
  let left = Math.max(0, limit)
  const content = message.content.map((block) => {
    if (block.type !== 'text') return block
    const text = block.text.length <= left ? block.text : `${block.text.slice(0, left).toWellFormed()}\n[… ${block.text.length - left} characters were left out here, to fit the window …]`
    left -= Math.min(left, block.text.length)
    return text === block.text ? block : { ...block, text }
  })
  return content.every((block, index) => block === message.content[index]) ? message : toContribution({ role: message.role, content }, 'keep')
}

/** `compaction/keep`: a list of messages. A listener that fails never blocks a compaction. */
export function keepRule(reporter: Reporter): SeamRule<readonly Piece[]> {
  const merge: Merge = { seam: 'compaction/keep', key: 'keep', reporter }
  return {
    show: messagesOf,
    async accept(returned, from, below, called) {
      return mergeList(returned, from, await below(), { ...merge, called })
    },
    forgive: ({ plugin, seam, problem }) => reporter.report({ kind: 'failed', plugin, seam, problem: `${problem}; what the others contributed stands` }),
  }
}

/** `agent/request-messages`: two lists. A listener may omit a list to which neither it nor anybody else adds. */
export function messagesRule(reporter: Reporter): SeamRule<Pieces> {
  const seam = 'agent/request-messages'
  return {
    show: ({ before, after }) => Object.freeze({ before: messagesOf(before), after: messagesOf(after) }),
    async accept(returned, from, below, called) {
      const others = await below()
      const { value, rewrap } = unwrap(returned)
      if (!isPlainObject(value)) throw new TypeError(`returned ${describe(value)}, not { before, after }`)
      const unknown = strayKey(value, 'before', 'after')
      if (unknown !== undefined) throw new TypeError(`returned an object with ${JSON.stringify(unknown)}; only before and after can be told here`)
      const notes: OverrideNote[] = []
      const merge: Merge = { seam, key: '', reporter, override: (note) => void notes.push(note) }
      const list = (name: 'before' | 'after', called: boolean): readonly Piece[] => mergeList(rewrap(value[name] ?? []), from, others[name], { ...merge, key: name, called })
      // A missing next() call or an override is reported once for both lists.
      const pieces = { before: list('before', called), after: list('after', true) }
      if (notes[0]) reporter.override({ ...notes[0], dropped: notes.flatMap((note) => note.dropped) })
      return pieces
    },
  }
}
