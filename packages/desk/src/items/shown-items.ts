import type { Item, ItemChange } from './item.ts'
import { Entry } from './item-list.ts'

interface Place {
  readonly entry: Entry
  before: Place | undefined
  after: Place | undefined
}

/** A list of items that changes are applied to, as a door keeps it. Each change costs what it says. */
export class ShownItems {
  private readonly places = new Map<string, Place>()
  private first: Place | undefined
  private last: Place | undefined

  /** The list, frozen; made anew at each call. */
  get items(): readonly Item[] {
    const items: Item[] = []
    for (let place = this.first; place; place = place.after) items.push(place.entry.item)
    return Object.freeze(items)
  }

  /** Takes the changes, in order. Text for an item that is not there, and its removal, change nothing. */
  apply(changes: readonly ItemChange[]): this {
    for (const change of changes) {
      if (change.type === 'put') this.put(change.item, change.after)
      else if (change.type === 'text') this.text(change.id, change.at, change.text)
      else this.remove(change.id)
    }
    return this
  }

  /** Replaces the item of that id where it stands; else puts it behind the one named, or in front of all. */
  private put(item: Item, after: string | undefined): void {
    const known = this.places.get(item.id)
    if (known) {
      known.entry.item = item
      return
    }
    const before = after === undefined ? undefined : (this.places.get(after) ?? this.last)
    const place: Place = { entry: new Entry(item), before, after: before ? before.after : this.first }
    if (place.before) place.before.after = place
    else this.first = place
    if (place.after) place.after.before = place
    else this.last = place
    this.places.set(item.id, place)
  }

  /** What it has already does no harm. */
  private text(id: string, at: number, text: string): void {
    const entry = this.places.get(id)?.entry
    if (entry && at <= entry.length && at + text.length > entry.length) entry.grow(text.slice(entry.length - at))
  }

  private remove(id: string): void {
    const place = this.places.get(id)
    if (!place) return
    this.places.delete(id)
    if (place.before) place.before.after = place.after
    else this.first = place.after
    if (place.after) place.after.before = place.before
    else this.last = place.before
  }
}

/** What the log says of a list: without items that only pieces made, and without the progress of calls that run. */
export function saidItems(items: readonly Item[]): readonly Item[] {
  return items.flatMap((item): readonly Item[] => {
    if (item.seq === undefined) return []
    if (item.kind !== 'call' || item.progress === undefined || item.output !== undefined) return [item]
    const { progress: _, ...said } = item
    return [Object.freeze(said)]
  })
}
