import { type Cursor, type SessionEvent, type SessionStore, cursorOf, parseCursor } from '@headrace/session'
import { itemFold } from './items/item-fold.ts'
import type { SeatChange, SeatItems } from './seat.ts'

/** Where items are told from. */
export interface ItemsSource {
  readonly id: string
  readonly store: SessionStore
  readonly from: Cursor | undefined
  readonly follow: (from: Cursor | undefined) => AsyncIterable<SeatChange>
}

/** A seat's changes as changes of items. What stands at the cursor is known to who gives it; what changes it is told. */
export async function* seatItems({ id, store, from, follow }: ItemsSource): AsyncGenerator<SeatItems> {
  let fold = itemFold()
  if (from !== undefined) for await (const events of upTo(store, id, from)) fold.append(events)
  for await (const change of follow(from)) {
    if (change.type === 'reset') {
      fold = itemFold()
      yield change
    } else if (change.type === 'append') {
      const { events, cursor } = change
      yield { type: 'items', changes: fold.append(events), cursor, events }
    } else {
      const changes = fold.piece(change.piece)
      if (changes.length > 0) yield { type: 'items', changes }
    }
  }
}

/** The events up to a cursor; none where the log does not have it, and follows from the first on. */
async function* upTo(store: SessionStore, id: string, from: Cursor): AsyncGenerator<readonly SessionEvent[]> {
  const { seq } = parseCursor(from) ?? { seq: -1 }
  let last: SessionEvent | undefined
  for await (const events of store.read(id, seq, seq + 1)) last = events.at(-1)
  if (last && cursorOf(id, last) === from) yield* store.read(id, 0, seq + 1)
}
