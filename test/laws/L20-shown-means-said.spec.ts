import { readFileSync, readdirSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { type Item, type ItemChange, ShownItems, itemFold, itemsOf, saidItems } from '@headrace/desk'
import type { Piece, SessionEvent } from '@headrace/session'
import { amount } from '../scale.ts'
import { type Told, randomLife, randomOf } from './random-log.ts'
import { idsOf } from './said-ids.ts'

/** Lives by their seeds, so many to a test. */
const LIVES = amount(1_000, 5_000, 50_000)
const PER_TEST = 100
const SEEDS = Array.from({ length: LIVES / PER_TEST }, (_, index) => index * PER_TEST)

/** As `toEqual`, at the cost of a walk. */
function same(found: unknown, wanted: unknown, where: string): void {
  if (!isDeepStrictEqual(found, wanted)) expect(found, where).toEqual(wanted)
}

/** A fold, and a door that knows nothing but its changes. Each change is one that a door can make: of what it has, behind what it has. */
class Door {
  readonly fold = itemFold()
  readonly shown = new ShownItems()
  private readonly ids = new Set<string>()

  append(events: readonly SessionEvent[]): readonly ItemChange[] {
    return this.take(this.fold.append(events))
  }

  piece(piece: Piece): readonly ItemChange[] {
    return this.take(this.fold.piece(piece))
  }

  tell(told: Told): readonly ItemChange[] {
    return 'piece' in told ? this.piece(told.piece) : this.append(told.events)
  }

  private take(changes: readonly ItemChange[]): readonly ItemChange[] {
    for (const change of changes) {
      const id = change.type === 'put' ? change.item.id : change.id
      const isKnown = this.ids.has(id)
      if (change.type === 'put') {
        if (change.after !== undefined && (isKnown || !this.ids.has(change.after))) throw new Error(`${id} comes behind ${change.after}, which is not there`)
        this.ids.add(id)
      } else if (!isKnown) throw new Error(`${id} is not there`)
      if (change.type === 'remove') this.ids.delete(id)
    }
    this.shown.apply(changes)
    return changes
  }
}

/** What is said live and not in the log yet, by block and by call: whole, as a door that joins is told of it. */
class Said {
  private readonly pieces = new Map<string, Piece>()
  private readonly ended = new Set<string>()
  /** A request has ended just now: what it said stands until the next event says that it is kept, or not. */
  isEnding = false

  tell(told: Told): void {
    if ('piece' in told) return this.piece(told.piece)
    this.isEnding = told.events.at(-1)!.type === 'request/end'
    for (const { type, data } of told.events) {
      if (type === 'request/end') this.end(`${data.dispatch}.`)
      if (type === 'tool/result') this.end(`${data.assistant}/${data.index} `)
    }
  }

  get open(): readonly Piece[] {
    return [...this.pieces.values()]
  }

  /** How it is to be shown: by the item's id, or by the call. */
  get texts(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.pieces].map(([key, { text }]) => [key.trim(), text]))
  }

  private piece(piece: Piece): void {
    const isProgress = piece.type === 'progress'
    const key = isProgress ? `${piece.assistant}/${piece.index} ` : `${piece.dispatch}.${piece.block}`
    const known = this.pieces.get(key)
    if (this.ended.has(isProgress ? key : `${piece.dispatch}.`)) return
    if (!known || (isProgress && known.type === 'progress' && piece.from > known.from)) return void this.pieces.set(key, piece)
    const end = known.at + known.text.length
    if (isProgress && known.type === 'progress' && piece.from < known.from) return
    const more = piece.text.slice(end - piece.at)
    if (piece.at + piece.text.length > end) this.pieces.set(key, { ...piece, at: known.at, text: known.text + more })
  }

  private end(prefix: string): void {
    this.ended.add(prefix)
    for (const key of this.pieces.keys()) if (key.startsWith(prefix)) this.pieces.delete(key)
  }
}

/** Texts that are only shown because pieces said them. */
function liveTexts(items: readonly Item[]): Readonly<Record<string, string>> {
  return Object.fromEntries(items.flatMap((item): readonly (readonly [string, string])[] => {
    if (item.kind === 'call' && item.progress && item.output === undefined) return [[`${item.call!.assistant}/${item.call!.index}`, item.progress.text]]
    if (item.seq !== undefined) return []
    if (item.kind === 'message') return item.content.map((block) => [item.id, block.type === 'text' ? block.text : ''])
    return item.kind === 'call' ? [[item.id, item.arguments]] : item.kind === 'thought' ? [[item.id, item.text]] : []
  }))
}

type Check = (told: readonly Told[], events: readonly SessionEvent[], seed: number, random: () => number) => void

function eachLife(first: number, check: Check): void {
  for (let seed = first; seed < first + PER_TEST; seed++) {
    const { told, events } = randomLife(randomOf(seed))
    check(told, events, seed, randomOf(seed + LIVES))
  }
}

describe.each(SEEDS)('L20 Shown means said, in the lives from %i on', (first) => {
  it('after each append the live stream, folded, is what the log says', () => eachLife(first, (told, events, seed) => {
    const door = new Door()
    for (const [index, one] of told.entries()) {
      door.tell(one)
      if ('piece' in one) continue
      const said = itemsOf(events.slice(0, one.events.at(-1)!.seq + 1))
      same(saidItems(door.fold.items), said, `life ${seed}, at ${index}`)
      same(door.shown.items, door.fold.items, `life ${seed}, at ${index}`)
    }
  }))

  it('the items are those that the events say, in their order, whatever was compacted; after a rewind those of that turn\'s beginning', () => eachLife(first, (told, events, seed) => {
    const fold = itemFold()
    for (const one of told) {
      if ('piece' in one) continue
      fold.append(one.events)
      const { seq } = one.events.at(-1)!
      same(fold.items.map(({ id }) => id), idsOf(events.slice(0, seq + 1)), `life ${seed}, event ${seq}`)
    }
  }))

  it('what is shown live is what was said so far; a piece that comes late or twice changes nothing', () => eachLife(first, (told, _, seed) => {
    const door = new Door()
    const said = new Said()
    for (const [index, one] of told.entries()) {
      door.tell(one)
      said.tell(one)
      if ('piece' in one && !said.isEnding) same(liveTexts(door.shown.items), said.texts, `life ${seed}, at ${index}`)
    }
  }))

  it('a door that joins in mid-answer has the same list, then and at the end', () => eachLife(first, (told, events, seed, random) => {
    const [door, joined, said] = [new Door(), new Door(), new Said()]
    const join = Math.floor(random() * told.length)
    for (const [index, one] of told.entries()) {
      door.tell(one)
      said.tell(one)
      if (index > join) joined.tell(one)
      if (index !== join) continue
      const seen = told.slice(0, join + 1).flatMap((before) => ('piece' in before ? [] : before.events))
      joined.append(seen)
      for (const piece of said.open) joined.piece(piece)
      if (!said.isEnding) same(joined.shown.items, door.shown.items, `life ${seed}, joined at ${index}`)
    }
    same(joined.shown.items, door.shown.items, `life ${seed}, joined at ${join}`)
    same(saidItems(joined.shown.items), itemsOf(events), `life ${seed}, joined at ${join}`)
  }))

  it('how events are told, each alone or all at once, makes no difference', () => eachLife(first, (told, events, seed) => {
    const [each, all] = [new Door(), new Door()]
    for (const one of told) {
      if ('piece' in one) each.piece(one.piece)
      else for (const event of one.events) each.append([event])
    }
    const changes = all.append(events)
    same(each.shown.items.filter(({ seq }) => seq !== undefined), all.shown.items, `life ${seed}`)
    same(changes.map((change) => (change.type === 'put' ? change.item : change)), itemsOf(events), `life ${seed}`)
  }))
})

const LOGS = new URL('../golden/logs/', import.meta.url)

it.each(readdirSync(LOGS).filter((name) => name.endsWith('.jsonl')))('L20 Shown means said, in the golden log %s', (name) => {
  const lines = readFileSync(new URL(name, LOGS), 'utf8').trimEnd().split('\n')
  const door = new Door()
  const events: SessionEvent[] = []
  for (const line of lines) {
    const appended = [JSON.parse(line) as SessionEvent | readonly SessionEvent[]].flat()
    events.push(...appended)
    door.append(appended)
    expect(door.shown.items).toEqual(itemsOf(events))
    expect(door.shown.items.map(({ id }) => id)).toEqual(idsOf(events))
  }
  expect(door.shown.items.length).toBeGreaterThan(0)
})
