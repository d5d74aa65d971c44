import { type Contribution, copyList, defined } from '@headrace/message'
import type { EpochHeader, HistorySnapshot, OwnedConfig } from '@headrace/session'
import type { RunContext } from '@headrace/run-context'
import { type Piece, type Pieces, wireOrder } from '../seams/contribution.ts'
import type { Prefix } from './prefix.ts'
import type { SystemSnapshot } from './system-registry.ts'
import type { ToolsSnapshot } from './tool-registry.ts'

/** The three snapshots of a boundary (L3). */
export interface Boundary {
  /** Of its `step/start`. */
  readonly seq: number
  readonly history: HistorySnapshot
  readonly system: SystemSnapshot
  readonly tools: ToolsSnapshot
}

/**
 * What stands around the history for one step, all attempts of it: in the order of the wire, a RunContext outermost
 * towards the history's ends.
 */
export interface Framing {
  readonly before: readonly Contribution[]
  readonly after: readonly Contribution[]
  readonly owners: { readonly before: readonly string[]; readonly after: readonly string[] }
}

/** `before = [head, …]`, `after = […, tail]`: the head comes first after the frozen prefix, the tail comes last. */
export function frame(pieces: Pieces, context: RunContext | undefined): Framing {
  const [before, after] = [wireOrder(pieces.before), wireOrder(pieces.after)]
  const head = context?.headMessage ? [context.headMessage] : []
  const tail = context?.tailMessage ? [context.tailMessage] : []
  return {
    before: copyList([...head, ...messagesOf(before)]),
    after: copyList([...messagesOf(after), ...tail]),
    owners: { before: copyList([...head.map(() => 'app'), ...ownersOf(before)]), after: copyList([...ownersOf(after), ...tail.map(() => 'app')]) },
  }
}

/** The header that a request will have: each field the product of one seam or registry. */
export function compose(at: Boundary, prefix: Prefix, { config, owners }: OwnedConfig, framing: Framing): EpochHeader {
  const { system, tools } = at
  return defined({
    config, system: system.system, tools: tools.tools, prefix: prefix.messages, before: framing.before, after: framing.after,
    owners: defined({ config: owners, system: system.owners, tools: tools.owners, prefix: prefix.owners, ...framing.owners }),
  })
}

const messagesOf = (pieces: readonly Piece[]): readonly Contribution[] => pieces.map((piece) => piece.message)
const ownersOf = (pieces: readonly Piece[]): readonly string[] => pieces.map((piece) => piece.owner)
