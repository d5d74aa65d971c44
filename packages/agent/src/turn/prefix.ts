import { type Message, type Owner, copyList } from '@headrace/message'
import type { Session } from '@headrace/session'
import { type Piece, wireOrder } from '../seams/contribution.ts'
import { type Hook, pluginOfHook } from '../seams/listener-owner.ts'
import type { Reporter } from '../seams/report.ts'

/** The prefix that an instance sends with every request (L5). */
export interface Prefix {
  readonly messages: readonly Message[]
  readonly owners: readonly Owner[]
  /** The listeners that composed it; absent where it is the recorded prefix of a fork's parent. */
  readonly listeners?: ReadonlySet<Hook>
}

export function prefixOf(pieces: readonly Piece[], listeners: readonly Hook[]): Prefix {
  const ordered = wireOrder(pieces)
  return {
    messages: copyList(ordered.map((piece) => piece.message)),
    owners: copyList(ordered.map((piece) => piece.owner)),
    listeners: new Set(listeners),
  }
}

/** The prefix of the log's last request; none before the first request. */
export function recordedPrefix(session: Session): Prefix | undefined {
  const { header } = session.headers
  return header && { messages: header.prefix ?? [], owners: header.owners.prefix ?? [] }
}

/** Reports listeners that were registered too late for the prefix, once each, by name. */
export class LateListeners {
  private readonly told = new WeakSet<Hook>()
  private readonly reporter: Reporter

  constructor(reporter: Reporter) {
    this.reporter = reporter
  }

  report(prefix: Prefix | undefined, hooks: readonly Hook[]): void {
    if (!prefix?.listeners) return
    for (const hook of hooks) {
      if (prefix.listeners.has(hook) || this.told.has(hook)) continue
      this.told.add(hook)
      this.reporter.report({ kind: 'late', plugin: pluginOfHook(hook), seam: 'agent/session-prefix', problem: 'it came after the first request, and the prefix is frozen; it will be heard when the session is resumed' })
    }
  }
}
