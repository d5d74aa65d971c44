import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import { messageOf } from '@headrace/message'
import { CardFold, type CardState, type ListFilter, type SessionCard, SessionNotFoundError, brokenCard, cardOf, cursorOf, isSessionId, parseCursor } from '@headrace/session'
import type { CardFolder, KeptCard } from './cards.ts'
import { LogFile } from './file.ts'
import { type FileLayer, isCode } from './files.ts'
import { Lock } from './lease-lock.ts'
import { readEvent, readEvents } from './log.ts'
import type { Place } from './reader.ts'

/** A log's size, and when it changed, in milliseconds. */
interface Change {
  readonly id: string
  readonly size: number
  readonly modified: number
}

/** How many logs are checked before the event loop gets a turn. */
const SLICE = 1_000
/** How many cards are read before the event loop gets a turn. */
const BLOCK = 100
const LOG = '.jsonl'

/** Cards of a folder's logs, made anew where they are missing or old. */
export class Listing {
  private readonly directory: string
  private readonly files: FileLayer
  private readonly cards_: CardFolder

  constructor(directory: string, files: FileLayer, cards: CardFolder) {
    this.directory = directory
    this.files = files
    this.cards_ = cards
  }

  /** One session's; undefined where there is no log. */
  async card(id: string): Promise<SessionCard | undefined> {
    const change = this.changeOf(id)
    if (!change) return undefined
    const facts = { ...change, modified: Math.floor(change.modified), holder: Lock.holderOf(join(this.directory, `${id}.lock`)) }
    try {
      return cardOf(facts, await this.current(id, change, facts.holder !== undefined))
    } catch (error) {
      return error instanceof SessionNotFoundError ? undefined : brokenCard(facts, messageOf(error), this.cards_.read(id)?.state)
    }
  }

  /** The card of a log, up to date with its end, for the holder of the lease. */
  async stateOf(id: string): Promise<CardState> {
    const change = this.changeOf(id)
    if (!change) throw new SessionNotFoundError(id)
    return this.current(id, change, false)
  }

  /**
   * Newest change first.
   *
   * @param names of the folder's files: of others only the modification time is read
   */
  async *cards(names: readonly string[], filter: ListFilter): AsyncGenerator<SessionCard> {
    const { cwd, under } = filter
    const isAll = cwd === undefined && under === undefined
    const ids = isAll ? names.filter(isLog).map(idOf) : await this.thoseOf(names, filter)
    let count = 0
    for (const { id } of await this.newestFirst(ids)) {
      // Reading cards is synchronous: give the event loop, and a consumer that wants to stop, a turn.
      if (++count % BLOCK === 0) await pause()
      const card = isSessionId(id) ? await this.card(id) : undefined
      if (!card) continue
      if ((cwd === undefined || card.open?.cwd === cwd) && (under === undefined || card.open?.under?.session === under)) yield card
    }
  }

  /** The sessions whose cards pass the filter. A missing card is made first. */
  private async thoseOf(names: readonly string[], filter: ListFilter): Promise<readonly string[]> {
    const carded = await this.cards_.ids()
    for (const name of names) if (isLog(name) && !carded.has(idOf(name)) && isSessionId(idOf(name))) await this.card(idOf(name))
    return this.cards_.idsOf(filter)
  }

  private async newestFirst(ids: readonly string[]): Promise<readonly Change[]> {
    const changes: Change[] = []
    for (let start = 0; start < ids.length; start += SLICE) {
      for (const id of ids.slice(start, start + SLICE)) {
        const change = this.changeOf(id)
        if (change) changes.push(change)
      }
      await pause()
    }
    return changes.sort((a, b) => b.modified - a.modified)
  }

  private changeOf(id: string): Change | undefined {
    const stat = statSync(`${this.directory}/${id}.jsonl`, { throwIfNoEntry: false })
    return stat && { id, size: stat.size, modified: stat.mtimeMs }
  }

  private async current(id: string, { size, modified }: Change, isHeld: boolean): Promise<CardState> {
    const kept = this.cards_.read(id)
    // The holder of the lease keeps the card up to date.
    if (kept && (isHeld || (kept.size === size && kept.modified === modified))) return kept.state
    const place = { id, path: join(this.directory, `${id}.jsonl`) }
    const file = LogFile.open(this.files, id, place.path)
    try {
      const now = file.times
      const start = await startOf(file, place, kept)
      const fold = new CardFold(start.state)
      for await (const events of readEvents(file, place, start.next, Infinity)) for (const event of events) fold.take(event)
      const state = fold.stateIn(id)
      if (!isHeld) await this.keep(id, { state, size: now.size, modified: now.mtimeMs })
      return state
    } finally {
      file.close()
    }
  }

  private async keep(id: string, card: KeptCard): Promise<void> {
    try {
      await this.cards_.write(id, card)
    } catch (error) {
      // A read-only folder has no cache.
      if (!isCode(error, 'EACCES', 'EROFS', 'ENOSPC', 'EPERM', 'EDQUOT')) throw error
    }
  }
}

function isLog(name: string): boolean {
  return name.endsWith(LOG)
}

function idOf(name: string): string {
  return name.slice(0, -LOG.length)
}

/** Where a card's update starts: after the event it was made at, if the log has that; else at the first event. */
async function startOf(
  file: LogFile,
  place: Place,
  kept: KeptCard | undefined,
): Promise<{ readonly state: CardState; readonly next: number }> {
  const at = kept?.state.at === undefined ? undefined : parseCursor(kept.state.at)
  if (at) {
    const event = await readEvent(file, place, at.seq)
    if (event && cursorOf(place.id, event) === kept!.state.at) return { state: kept!.state, next: at.seq + 1 }
  }
  return { state: { asks: [], queued: 0 }, next: 0 }
}
