import { HeaderFold } from './header-fold.ts'
import { Ledger } from './ledger.ts'
import type { SessionEvent } from './event.ts'
import { checkVersion } from './check.ts'
import { LogError } from './error.ts'
import { Surface } from './surface.ts'

/** All that is derived from a log, kept one event at a time: what a session, a witness and `verify` have in common. */
export class Fold {
  readonly surface = new Surface()
  readonly headers = new HeaderFold()
  readonly ledger = new Ledger()
  /** The session that the log began as: its own id, or that of the first of its parents. */
  root = ''
  /** The seq of the next event. */
  length = 0

  /** @throws LogError where the event cannot follow; the fold may be torn then, and must be made anew */
  apply(event: SessionEvent): void {
    if (event.seq !== this.length) throw new LogError(`event ${this.length} was expected here`, event.seq, 'LOG_GAP')
    if ((event.type === 'session/open') !== (event.seq === 0)) throw new LogError('a log begins with session/open, and has one', event.seq)
    if (event.type === 'session/open') {
      checkVersion(event.data.version)
      this.root = event.data.root ?? event.data.id
    }
    this.ledger.apply(event)
    this.surface.apply(event, this.headers.header?.config.model)
    this.headers.apply(event)
    this.length++
  }

  /** The fold of a log. @throws LogError */
  static of(events: Iterable<SessionEvent>): Fold {
    const fold = new Fold()
    for (const event of events) fold.apply(event)
    return fold
  }
}
