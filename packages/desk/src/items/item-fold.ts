import type { Message, Owner } from '@headrace/message'
import type { EventMap, Piece, SessionEvent } from '@headrace/session'
import { Calls } from './calls.ts'
import { blockItem, contentOf, errorText, freezeAll, openItem, planOf, seedOwner, textOfPiece } from './item-of.ts'
import type { Item, ItemChange, NoticeItem } from './item.ts'
import { Entry, ItemList, type Slot } from './item-list.ts'

/**
 * Items, from events in order and from pieces as they come. After each append the list is that of {@link itemsOf} the events so far, what
 * is open left out of both (see `saidItems`). Events that it has taken, and pieces that come late or twice, change nothing.
 */
export interface ItemFold {
  /** Takes what was appended together. Costs what is new, however long the log is. */
  append(events: readonly SessionEvent[]): readonly ItemChange[]
  /** Takes a piece; costs its text. */
  piece(piece: Piece): readonly ItemChange[]
  /** The list, in the order it is shown: made when it is asked for, at the cost of its length. */
  readonly items: readonly Item[]
}

/**
 * An empty list that takes events from a log's first on, and freezes them. What an event says wrongly, or twice, is passed over: it never
 * throws.
 */
export function itemFold(): ItemFold {
  return new Fold(true)
}

/** The items of a log, as they stand after its last event. Freezes the events. */
export function itemsOf(events: Iterable<SessionEvent>): readonly Item[] {
  const fold = new Fold(false)
  for (const event of events) fold.take(event)
  return fold.items
}

/** A request on its way, until its step ends. */
interface Dispatched {
  readonly model: string
  readonly purpose: string | undefined
  /** Where its answer stands: behind what came before it, in front of what comes meanwhile. A side request has none, nor after its step. */
  slot: Slot | undefined
  /** Blocks of the answer, by place. */
  readonly blocks: Map<number, Entry>
  isOpen: boolean
  isEnded: boolean
  isAnswered: boolean
}

const NONE: readonly never[] = Object.freeze([])

class Fold implements ItemFold {
  private readonly list: ItemList
  private readonly calls: Calls
  private readonly dispatches = new Map<number, Dispatched>()
  /** Its request has ended, and its answer is the next event, or there is none. */
  private ending: Dispatched | undefined
  private newest = -1
  private turn: { readonly number: number; readonly prompt: number | undefined } | undefined
  /** Of the folded header; and the one that holds where no substitute stands in. */
  private model = ''
  private baseline: string | undefined

  constructor(isFollowed: boolean) {
    this.list = new ItemList(isFollowed)
    this.calls = new Calls(this.list)
  }

  get items(): readonly Item[] {
    return this.list.items
  }

  append(events: readonly SessionEvent[]): readonly ItemChange[] {
    for (const event of events) this.take(event)
    return this.list.changes()
  }

  piece(piece: Piece): readonly ItemChange[] {
    if (piece.type === 'progress') {
      this.calls.progress(piece)
      return this.list.changes()
    }
    const grown = this.grow(piece)
    return grown ? Object.freeze([grown]) : this.list.changes()
  }

  take(event: SessionEvent): void {
    const { seq } = event
    if (!(seq > this.newest)) return
    this.newest = seq
    const { ending } = this
    this.ending = undefined
    try {
      freezeAll(event)
      if (ending && !(event.type === 'assistant/message' && this.dispatches.get(event.data.dispatch) === ending)) this.close(ending)
      this.apply(event)
    } catch {
      // Not what an event of its type is: it says nothing. Stores give no such event, but for what only its plugin can judge.
    }
  }

  private apply(event: SessionEvent): void {
    switch (event.type) {
      case 'session/open': return this.open(event)
      case 'session/title': return this.note(event, 'title', event.data.title, event.data.owner)
      case 'prompt/queued': return this.queue(event)
      case 'prompt/withdrawn': return this.withdraw(event)
      case 'turn/start': return this.startTurn(event.data)
      case 'turn/end': return this.endTurn(event)
      case 'step/end': return this.endStep()
      case 'user/message': return this.submit(event)
      case 'context/message': return this.context(event, `${event.seq}`, event.data, event.data.steer)
      case 'request/header': return this.header(event, event.data.header.config.model, event.data.owners?.config?.model)
      case 'request/header-delta': {
        const { config, owners } = event.data.delta
        return config && this.header(event, config.model, owners?.config?.model ?? undefined)
      }
      case 'request/dispatch': return this.dispatch(event)
      case 'request/end': return this.endRequest(event)
      case 'assistant/message': return this.answer(event)
      case 'approval/decided': return this.calls.decide(event.data)
      case 'question/asked': return this.calls.ask(event, this.saidBy(event, event.data.kind === 'input' ? 'tool' : 'loop'))
      case 'question/answered': return this.calls.answer(event.data)
      case 'tool/start': return this.calls.start(event.data)
      case 'tool/result': return this.result(event)
      case 'agent/child': return this.calls.child(event.data)
      case 'surface/replace': return this.compact(event)
      case 'surface/rewind':
        this.turn = undefined
        this.endStep()
        return this.list.rewind(event.data.turn)
    }
  }

  /** What every item says. */
  private saidBy({ seq, time }: SessionEvent, owner: Owner, id = `${seq}`): { id: string; seq: number; time: number; turn?: number; owner: Owner } {
    return { id, seq, time, ...(this.turn && { turn: this.turn.number }), owner }
  }

  private note(event: SessionEvent, kind: NoticeItem['notice'], text: string, owner: Owner, more: Partial<NoticeItem> = {}): void {
    this.list.add({ ...this.saidBy(event, owner), kind: 'notice', notice: kind, text, ...more })
  }

  private open(event: SessionEvent<'session/open'>): void {
    const { seed = [], config } = event.data
    this.baseline ??= config?.model
    let part = 0
    const next = (message: Message): ReturnType<Fold['saidBy']> => this.saidBy(event, seedOwner(message), `${event.seq}.${part++}`)
    for (const message of seed) {
      if (message.role === 'tool') this.calls.seeded(message.content[0])
      else if (message.role !== 'assistant') this.list.add({ ...next(message), kind: 'message', role: message.role, content: contentOf(message), state: 'done' })
      else for (const block of message.content) {
        const item = blockItem(next(message), block, 'done', undefined)
        if (item) this.calls.seed(block, this.list.add(item))
      }
    }
    this.calls.clear()
  }

  private queue(event: SessionEvent<'prompt/queued'>): void {
    const { input, owner, steer } = event.data
    const { turn: _, ...said } = this.saidBy(event, owner)
    this.list.enqueue(event.seq, { ...said, kind: 'message', role: 'user', content: contentOf(input), state: 'queued', ...(steer && { steer }) })
  }

  private withdraw(event: SessionEvent<'prompt/withdrawn'>): void {
    const item = this.list.unqueue(event.data.prompt, 'withdrawn')
    if (item) this.note(event, 'withdrawn', event.data.reason, item.owner)
  }

  private startTurn({ turn: number, prompt }: EventMap['turn/start']): void {
    this.endStep()
    this.list.begin(number)
    this.turn = { number, prompt }
  }

  private endTurn(event: SessionEvent<'turn/end'>): void {
    const { reason, error } = event.data
    this.endStep()
    // Its prompt was blocked, or the turn ended before it was taken.
    if (this.turn?.prompt !== undefined) this.list.unqueue(this.turn.prompt, 'withdrawn')
    if (reason !== 'done') this.note(event, 'ended', errorText(error) ?? reason, 'loop', { reason })
    this.turn = undefined
  }

  /** What was said and not answered by then is nothing. */
  private endStep(): void {
    for (const [seq, dispatched] of this.dispatches) {
      if (!dispatched.slot) continue
      this.close(dispatched)
      dispatched.slot = undefined
      if (dispatched.isEnded) this.dispatches.delete(seq)
    }
    this.calls.clear()
  }

  private submit(event: SessionEvent<'user/message'>): void {
    const { message, owner, prompt } = event.data
    const content = contentOf(message)
    const queued = this.list.unqueue(prompt, 'taken')
    const steer = queued?.kind === 'message' && queued.steer
    this.list.add({ ...this.saidBy(event, owner, queued?.id), kind: 'message', role: 'user', content, state: 'done', ...(steer && { steer }) })
  }

  private context(event: SessionEvent, id: string, { message, owner }: EventMap['context/message'], steer?: true): void {
    const { role } = message
    this.list.add({ ...this.saidBy(event, owner, id), kind: 'message', role, content: contentOf(message), state: 'done', context: true, ...(steer && { steer }) })
  }

  private header(event: SessionEvent<'request/header' | 'request/header-delta'>, model: string, owner: Owner | undefined): void {
    this.model = model
    if (event.data.substitute) return
    if (this.baseline !== undefined && this.baseline !== model) this.note(event, 'model', model, owner ?? 'loop')
    this.baseline = model
  }

  private dispatch({ seq, data: { purpose, config } }: SessionEvent<'request/dispatch'>): void {
    const model = purpose === undefined ? this.model : (config?.model ?? this.model)
    const slot = purpose === undefined ? this.list.open() : undefined
    this.dispatches.set(seq, { model, purpose, slot, blocks: new Map(), isOpen: true, isEnded: false, isAnswered: false })
  }

  private grow(piece: Exclude<Piece, { readonly type: 'progress' }>): ItemChange | undefined {
    const { dispatch, block, at } = piece
    const dispatched = this.dispatches.get(dispatch)
    if (!dispatched?.isOpen || dispatched.isEnded || !dispatched.slot) return undefined
    const entry = dispatched.blocks.get(block)
    if (entry) {
      const more = textOfPiece(piece, entry)
      return more === '' ? undefined : this.list.grow(entry, more)
    }
    const item = at === 0 && Number.isSafeInteger(block) && openItem(piece, this.turn?.number, dispatched.model)
    if (!item) return undefined
    dispatched.blocks.set(block, this.list.put(dispatched.slot, block, new Entry(item)))
    return undefined
  }

  /** Takes back what was only said live. */
  private close(dispatched: Dispatched): void {
    if (!dispatched.isOpen) return
    dispatched.isOpen = false
    for (const entry of dispatched.blocks.values()) this.list.remove(entry, 'failed')
  }

  private endRequest(event: SessionEvent<'request/end'>): void {
    const { dispatch, usage, outcome } = event.data
    const dispatched = this.dispatches.get(dispatch)
    if (!dispatched) return
    if (outcome === 'error') this.close(dispatched)
    else this.ending = dispatched
    const { model, purpose, slot } = dispatched
    dispatched.isEnded = true
    if (!slot) this.dispatches.delete(dispatch)
    if (!usage) return
    const item = { ...this.saidBy(event, 'model'), kind: 'usage', model, usage, ...(purpose !== undefined && { purpose }) } as const
    this.list.put(slot ?? this.list.open(), Infinity, new Entry(item))
  }

  private answer(event: SessionEvent<'assistant/message'>): void {
    const { message, dispatch, interrupted } = event.data
    const known = this.dispatches.get(dispatch)
    const dispatched = known?.slot && !known.isAnswered ? known : undefined
    const slot = dispatched?.slot ?? this.list.open()
    const blocks = dispatched?.blocks ?? new Map<number, Entry>()
    if (dispatched) {
      this.close(dispatched)
      dispatched.isAnswered = true
    }
    const base = dispatched ? dispatch : event.seq
    let index = 0
    for (const [place, block] of message.content.entries()) {
      const call = block.type === 'tool-call' ? { assistant: event.seq, index: index++ } : undefined
      const item = blockItem(this.saidBy(event, 'model', `${base}.${place}`), block, interrupted ? 'interrupted' : 'done', call, dispatched?.model)
      if (!item) continue
      const entry = blocks.get(place) ?? new Entry(item)
      entry.item = item
      this.list.put(slot, place, entry)
      if (call) this.calls.open(call, entry)
    }
  }

  private result(event: SessionEvent<'tool/result'>): void {
    const { data, seq } = event
    this.calls.end(data)
    const entries = planOf(data.details)
    if (entries) this.list.add({ ...this.saidBy(event, data.owner ?? 'tool'), kind: 'plan', entries })
    for (const [index, signed] of (data.additionalContext ?? NONE).entries()) this.context(event, `${seq}.${index + 1}`, signed)
  }

  /** Several in a row that say the same, as for each result that was trimmed, are one notice. */
  private compact(event: SessionEvent<'surface/replace'>): void {
    const { reason, owner } = event.data
    const last = this.list.last?.item
    if (last?.kind === 'notice' && last.notice === 'compaction' && last.text === reason && last.owner === owner && last.turn === this.turn?.number) return
    this.note(event, 'compaction', reason, owner)
  }
}
