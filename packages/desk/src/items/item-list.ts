import type { ContentBlock } from '@headrace/message'
import type { Item, ItemChange } from './item.ts'

/** Why an item is taken away. */
export type RemoveReason = Extract<ItemChange, { readonly type: 'remove' }>['why']

/** An item in its list. While it is open its text grows; the item with that text is made when somebody asks for it. */
export class Entry {
  readonly id: string
  /** UTF-16 units of its text, while it is open. */
  length: number
  /** Whoever follows the changes has it. */
  told = false
  gone: RemoveReason | undefined
  /** Where it stands; none in the queue. */
  segment: Segment | undefined
  slot = 0
  part = 0
  private made: Item
  /** All of its text, where that has grown since `made`. Joining texts copies neither. */
  private text: string | undefined

  constructor(item: Item) {
    this.id = item.id
    this.length = textOf(item).length
    this.made = Object.freeze(item)
  }

  get item(): Item {
    if (this.text !== undefined) {
      this.made = Object.freeze(withText(this.made, this.text))
      this.text = undefined
    }
    return this.made
  }

  set item(item: Item) {
    this.length = textOf(item).length
    this.made = Object.freeze(item)
    this.text = undefined
  }

  grow(text: string): void {
    this.text = (this.text ?? textOf(this.made)) + text
    this.length += text.length
  }
}

/** Entries that stand together, by their parts: the blocks of an answer, or one item alone. */
export interface Slot {
  readonly segment: Segment
  readonly index: number
  readonly entries: Entry[]
}

/** What was said from one turn's beginning to the next, or to a rewind. Complete once there is another on top of it. */
interface Segment {
  readonly below: Segment | undefined
  readonly depth: number
  readonly slots: Slot[]
}

/**
 * The list, as a tree of segments whose newest path is shown: a rewind begins another branch, in constant time, and what was taken back can
 * stand again. Behind it stands the queue. Remembers what it has told: {@link changes} costs what has changed.
 */
export class ItemList {
  private top = segmentOn(undefined)
  /** The newest segment of the list as it was told. */
  private toldTop = this.top
  /** By turn, the segment that was the newest before it. */
  private readonly turns = new Map<number, Segment | undefined>()
  private queue: Entry[] = []
  private readonly queued = new Map<number, Entry>()
  private readonly touched = new Set<Entry>()
  private list: readonly Item[] | undefined
  private readonly isFollowed: boolean

  /** @param isFollowed false where nobody asks for changes */
  constructor(isFollowed: boolean) {
    this.isFollowed = isFollowed
  }

  get items(): readonly Item[] {
    const entries = (): Entry[] => [...standing(this.path(undefined)), ...this.queue.filter((entry) => !entry.gone)]
    return (this.list ??= Object.freeze(entries().map(({ item }) => item)))
  }

  /** Notes the beginning of a turn: a rewind can go back to it. */
  begin(turn: number): void {
    if (this.top.slots.length > 0) this.top = segmentOn(this.top)
    this.turns.set(turn, this.top.below)
  }

  rewind(turn: number): void {
    if (!this.turns.has(turn)) return
    this.top = segmentOn(this.turns.get(turn))
    this.list = undefined
  }

  /** A place at the end, for what will stand together. */
  open(): Slot {
    const slot: Slot = { segment: this.top, index: this.top.slots.length, entries: [] }
    this.top.slots.push(slot)
    return slot
  }

  add(item: Item): Entry {
    return this.put(this.open(), 0, new Entry(item))
  }

  /** The newest item, where nothing of another turn stands in between. */
  get last(): Entry | undefined {
    return this.top.slots.at(-1)?.entries.at(-1)
  }

  /** Puts an entry into a slot, behind those of lower parts. */
  put(slot: Slot, part: number, entry: Entry): Entry {
    const { entries } = slot
    let index = entries.length
    while (index > 0 && entries[index - 1]!.part > part) index--
    entries.splice(index, 0, entry)
    entry.segment = slot.segment
    entry.slot = slot.index
    entry.part = part
    entry.gone = undefined
    return this.touch(entry)
  }

  set(entry: Entry, item: Item): void {
    entry.item = item
    this.touch(entry)
  }

  /** Puts text behind that of an open item. Returns the change, where the item was told before. */
  grow(entry: Entry, text: string): ItemChange | undefined {
    const at = entry.length
    entry.grow(text)
    this.list = undefined
    return entry.told ? Object.freeze({ type: 'text', id: entry.id, at, text }) : undefined
  }

  remove(entry: Entry, why: RemoveReason): void {
    const { segment } = entry
    const entries = segment?.slots[entry.slot]?.entries ?? []
    const index = entries.indexOf(entry)
    if (index >= 0) entries.splice(index, 1)
    entry.gone = why
    this.touch(entry)
  }

  enqueue(prompt: number, item: Item): void {
    const entry = new Entry(item)
    this.queue.push(entry)
    this.queued.set(prompt, this.touch(entry))
  }

  /** Takes an item out of the queue; `undefined` where it is not there. */
  unqueue(prompt: number, why: RemoveReason): Item | undefined {
    const entry = this.queued.get(prompt)
    if (!entry) return undefined
    this.queued.delete(prompt)
    entry.gone = why
    this.touch(entry)
    if (this.queue.length > 2 * this.queued.size) this.queue = this.queue.filter((one) => !one.gone)
    return entry.item
  }

  /** From the list as it was told to the list as it is: what goes, then what comes, from front to back. */
  changes(): readonly ItemChange[] {
    if (this.touched.size === 0 && this.toldTop === this.top) return NONE
    const changes: ItemChange[] = []
    const remove = (entry: Entry, why: RemoveReason): void => {
      if (!entry.told) return
      entry.told = false
      changes.push({ type: 'remove', id: entry.id, why })
    }
    const put = (entry: Entry, before: Entry | undefined): void => {
      changes.push({ type: 'put', item: entry.item, ...(!entry.told && before && { after: before.id }) })
      entry.told = true
    }
    const shared = commonOf(this.toldTop, this.top)
    for (let segment: Segment | undefined = this.toldTop; segment !== shared; segment = segment!.below)
      for (const { entries } of segment!.slots) for (const entry of entries) remove(entry, 'rewound')
    for (const entry of this.touched) if (entry.gone) remove(entry, entry.gone)
    // Only the newest segment of those that were told can have changed.
    const changed = [...this.touched].filter((entry) => !entry.gone && entry.segment === shared && shared === this.toldTop)
    for (const entry of changed.sort((a, b) => a.slot - b.slot || a.part - b.part)) put(entry, entry.told ? undefined : before(entry))
    let last = shared && lastOf(shared, shared.slots.length)
    for (const entry of standing(this.path(shared))) {
      put(entry, last)
      last = entry
    }
    this.tellQueue(put)
    this.touched.clear()
    this.toldTop = this.top
    return Object.freeze(changes.map((change) => Object.freeze(change)))
  }

  /** What was queued since stands at the end of the queue. */
  private tellQueue(put: (entry: Entry, before: Entry | undefined) => void): void {
    const { queue } = this
    let start = queue.length
    while (start > 0 && !queue[start - 1]!.told) start--
    if (start === queue.length) return
    let last = queue.slice(0, start).findLast((entry) => !entry.gone) ?? lastOf(this.top, this.top.slots.length)
    for (const entry of queue.slice(start)) {
      if (entry.gone) continue
      put(entry, last)
      last = entry
    }
  }

  /** Segments of the list behind one of them, from front to back. */
  private path(from: Segment | undefined): readonly Segment[] {
    const path: Segment[] = []
    for (let segment: Segment | undefined = this.top; segment && segment !== from; segment = segment.below) path.push(segment)
    return path.reverse()
  }

  private touch(entry: Entry): Entry {
    if (this.isFollowed) this.touched.add(entry)
    this.list = undefined
    return entry
  }
}

const NONE: readonly never[] = Object.freeze([])

function segmentOn(below: Segment | undefined): Segment {
  return { below, depth: below ? below.depth + 1 : 0, slots: [] }
}

function* standing(segments: readonly Segment[]): IterableIterator<Entry> {
  for (const { slots } of segments) for (const { entries } of slots) yield* entries
}

/** The newest segment that two paths share. */
function commonOf(a: Segment | undefined, b: Segment | undefined): Segment | undefined {
  while (a !== b) {
    if (!a || !b) return undefined
    if (a.depth >= b.depth) a = a.below
    else b = b.below
  }
  return a
}

/** What stands in front of an entry. */
function before({ segment, slot, part }: Entry): Entry | undefined {
  return segment!.slots[slot]!.entries.findLast((entry) => entry.part < part) ?? lastOf(segment!, slot)
}

/** The last entry in front of a slot. */
function lastOf(segment: Segment, slot: number): Entry | undefined {
  for (let at: Segment | undefined = segment, index = slot; at; at = at.below, index = at?.slots.length ?? 0)
    while (index-- > 0) {
      const last = at.slots[index]!.entries.at(-1)
      if (last) return last
    }
  return undefined
}

function textOf(item: Item): string {
  switch (item.kind) {
    case 'message': {
      const [block] = item.content
      return block?.type === 'text' ? block.text : ''
    }
    case 'call': return item.arguments
    case 'thought': return item.text
    default: return ''
  }
}

function withText(item: Item, text: string): Item {
  switch (item.kind) {
    case 'message': return { ...item, content: Object.freeze([Object.freeze({ type: 'text', text } satisfies ContentBlock)]) }
    case 'call': return { ...item, arguments: text }
    case 'thought': return { ...item, text }
    default: return item
  }
}
