import { HeaderFold } from './header-fold.ts'
import { Ledger } from './ledger.ts'
import type { SessionEvent } from './event.ts'
import { checkVersion } from './check.ts'
import { LogError } from './error.ts'
import { Surface } from './surface.ts'

/** All state derived from a log, updated event by event; shared by sessions, witnesses and `verify`. */
export class Fold {
  readonly surface = new Surface()
  readonly headers = new HeaderFold()
  readonly ledger = new Ledger()
  /** The root of its line of forks: the session's own id, or that of its first ancestor. */
  root = ''
  /** The seq of the next event. */
  length = 0

  /** @throws LogError where the event cannot follow; the fold is inconsistent then, and must be rebuilt */
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
