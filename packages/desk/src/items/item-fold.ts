import type { Piece, SessionEvent } from '@headrace/session'
import type { Item, ItemChange } from './item.ts'

/**
 * Items, from events in order and from pieces as they come. After each append the list is that of {@link itemsOf} the events
 * so far, what is open left out of both.
 */
export interface ItemFold {
  /** Takes what was appended together. */
  append(events: readonly SessionEvent[]): readonly ItemChange[]
  /** Takes a piece; one that comes late or twice changes nothing. */
  piece(piece: Piece): readonly ItemChange[]
  /** The list, in the order it is shown. */
  readonly items: readonly Item[]
}
