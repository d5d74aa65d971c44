import type { Session } from '@headrace/session'
import type { Hook } from '../seams/listener-owner.ts'
import type { Reporter } from '../seams/report.ts'
import type { ConfigSeed } from './config-seed.ts'
import { LateListeners, type Prefix, recordedPrefix } from './prefix.ts'

/** The state that one loop instance needs for its headers: config seed (L6), prefix (L5), and its one snapshot (L13). */
export class InstanceHeader {
  readonly seed: ConfigSeed
  prefix: Prefix | undefined
  private readonly session: Session
  private readonly forked: boolean
  private readonly late: LateListeners
  private anchored = false

  /** @param forked the log was copied from another session: it sends that one's prefix */
  constructor(session: Session, seed: ConfigSeed, reporter: Reporter, forked: boolean) {
    this.session = session
    this.seed = seed
    this.forked = forked
    this.late = new LateListeners(reporter)
    if (forked) this.prefix = recordedPrefix(session)
  }

  /** Why this instance's first header event is a snapshot; `undefined` once it is written. */
  get anchor(): 'initial' | 'resume' | 'fork' | undefined {
    if (this.anchored) return undefined
    return this.session.headers.header ? (this.forked ? 'fork' : 'resume') : 'initial'
  }

  /** The snapshot is in the log. */
  settle(): void {
    this.anchored = true
  }

  /** Reports by name a listener that was registered too late for the prefix. */
  reportLate(listeners: readonly Hook[]): void {
    this.late.report(this.prefix, listeners)
  }
}
