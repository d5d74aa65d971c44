import { randomUUID } from 'node:crypto'
import { type Digest, sha256 } from '@headrace/message'
import { checkEvent } from './check.ts'
import { SessionBusyError, SessionExistsError, SessionNotFoundError } from './error.ts'
import type { SessionEvent } from './event.ts'
import { type Batch, type Lease, type ListFilter, type SessionStore, checkSessionId } from './store.ts'
import { CardFold, type SessionCard, cardOf } from './store/card.ts'
import { type FollowOptions, type Followed, follow } from './store/follow.ts'
import { KeyTakenError, type Letter, type LetterDraft, type Posted, checkLetter, contentDigest } from './store/letter.ts'
import { type KeptKey, type Mailbox, type Waiting, keyedPrompts } from './store/mailbox.ts'
import { Signals } from './store/signals.ts'
import { type LeaseStart, StoreLease, mailOf } from './store/store-lease.ts'
import { cursorOf, parseCursor } from './sum.ts'

interface MemoryLog {
  readonly lines: string[]
  readonly blobs: Map<Digest, Uint8Array>
  readonly keys: Map<string, KeptKey>
  readonly card: CardFold
  mail: Waiting[]
  modified: number
  size: number
  lease: MemoryLease | undefined
}

/** Keeps logs in this process, as JSON text: the same serialisation as on disk. */
export class MemoryStore implements SessionStore {
  readonly location = 'memory'
  private readonly logs = new Map<string, MemoryLog>()
  private readonly signals = new Signals()

  async create(id: string): Promise<Lease> {
    checkSessionId(id)
    if (this.logs.has(id)) throw new SessionExistsError(id)
    this.logs.set(id, {
      lines: [],
      blobs: new Map(),
      keys: new Map(),
      card: new CardFold(),
      mail: [],
      modified: Date.now(),
      size: 0,
      lease: undefined,
    })
    return this.lease(id)
  }

  async lease(id: string): Promise<Lease> {
    const log = this.log(id)
    if (log.lease) throw new SessionBusyError(id, holder)
    const start = {
      id,
      next: log.lines.length,
      card: log.card.stateIn(id),
      mailbox: mailboxOf(log),
      read: (from: number, to: number) => this.read(id, from, to),
      signals: this.signals,
    }
    const lease = new MemoryLease(start, log)
    log.lease = lease
    // Plain functions, so that tests can replace one and spread the others.
    return {
      id,
      lost: lease.lost,
      append: (batch) => lease.append(batch),
      flush: () => lease.flush(),
      letters: () => lease.letters(),
      onLetter: (listener) => lease.onLetter(listener),
      release: () => lease.release(),
    }
  }

  async *load(id: string): AsyncIterable<readonly SessionEvent[]> {
    const { lines } = this.log(id)
    yield lines.map(parse)
  }

  async *read(id: string, from: number, to: number): AsyncIterable<readonly SessionEvent[]> {
    const { lines } = this.log(id)
    const asked = lines.slice(Math.max(0, from), Math.max(0, to))
    if (asked.length > 0) yield asked.map(parse)
  }

  follow(id: string, options: FollowOptions = {}): AsyncIterable<Followed> {
    checkSessionId(id)
    return follow({ look: (from) => this.look(id, from), watch: (onChange) => this.signals.on(id, onChange) }, options)
  }

  async post(id: string, draft: LetterDraft): Promise<Posted> {
    const log = this.log(id)
    const letter = checkLetter(id, draft)
    // Nothing of it was acknowledged yet.
    if (log.lines.length === 0) throw new SessionNotFoundError(id)
    const known = letter.kind === 'prompt' && letter.key !== undefined ? keptUnder(id, log, letter.key, contentDigest(letter)) : undefined
    if (known) return known
    const posted = { ...letter, id: randomUUID(), time: Date.now() }
    log.mail.push({ letter: posted, after: log.lines.length })
    this.signals.emit(mailOf(id))
    return { letter: posted.id }
  }

  async letters(id: string): Promise<readonly Letter[]> {
    return this.log(id).mail.map(({ letter }) => letter)
  }

  async card(id: string): Promise<SessionCard> {
    const { modified, size, lease, card } = this.log(id)
    return cardOf({ id, modified, size, holder: lease && holder }, card.stateIn(id))
  }

  async *list({ cwd, under }: ListFilter = {}): AsyncIterable<SessionCard> {
    const newestFirst = [...this.logs].sort(([, a], [, b]) => b.modified - a.modified)
    for (const [id, log] of newestFirst) {
      if (this.logs.get(id) !== log) continue
      const card = await this.card(id)
      if ((cwd === undefined || card.open?.cwd === cwd) && (under === undefined || card.open?.under?.session === under)) yield card
    }
  }

  async remove(id: string): Promise<void> {
    if (this.log(id).lease) throw new SessionBusyError(id, holder)
    this.logs.delete(id)
    this.signals.emit(id)
  }

  async putBlob(id: string, bytes: Uint8Array): Promise<Digest> {
    const digest = sha256(bytes)
    this.log(id).blobs.set(digest, bytes.slice())
    return digest
  }

  async getBlob(id: string, digest: Digest): Promise<Uint8Array | undefined> {
    return this.log(id).blobs.get(digest)?.slice()
  }

  private async *look(id: string, from: string | undefined): AsyncIterable<Followed> {
    const { lines, lease } = this.log(id)
    const durable = lease?.isOpen ? lease.durable : lines.length
    lease?.flushSoon()
    let start = 0
    if (from !== undefined) {
      const { seq } = parseCursor(from)!
      const line = lines[seq]
      if (line === undefined || cursorOf(id, parse(line), line) !== from) yield { reset: true }
      else start = seq + 1
    }
    if (start >= durable) return
    const events = lines.slice(start, durable).map(parse)
    yield { events, cursor: cursorOf(id, events.at(-1)!, lines[durable - 1]) }
  }

  private log(id: string): MemoryLog {
    checkSessionId(id)
    const log = this.logs.get(id)
    if (!log) throw new SessionNotFoundError(id)
    return log
  }
}

const holder = `this process (pid ${process.pid})`

class MemoryLease extends StoreLease {
  private readonly log: MemoryLog

  constructor(start: LeaseStart, log: MemoryLog) {
    super(start)
    this.log = log
  }

  protected write({ events, json }: Batch): void {
    const { log } = this
    for (const line of json) {
      log.lines.push(line)
      log.size += Buffer.byteLength(line) + 1
    }
    for (const prompt of keyedPrompts(events, this.taken.contents)) if (!log.keys.has(prompt.key)) log.keys.set(prompt.key, prompt)
    // The store's own: the lease keeps one as of what is durable.
    events.forEach((event, index) => log.card.take(event, json[index]))
    log.modified = Date.now()
  }

  protected async sync(): Promise<void> {}

  protected async writeCard(): Promise<void> {}

  protected async giveBack(): Promise<void> {
    this.log.lease = undefined
  }

  protected watchMail(): () => void {
    return () => undefined
  }
}

function mailboxOf(log: MemoryLog): Mailbox {
  return {
    list: async () => log.mail,
    remove: async (letters) => void (log.mail = log.mail.filter(({ letter }) => !letters.includes(letter.id))),
  }
}

/** What a key stands for already. @throws KeyTakenError where that is something else */
function keptUnder(id: string, { mail, keys }: MemoryLog, key: string, content: string): Posted | undefined {
  const waiting = mail.find(({ letter }) => letter.kind === 'prompt' && letter.key === key)?.letter
  const logged = keys.get(key)
  if (!waiting && !logged) return undefined
  if ((logged?.content ?? contentDigest(waiting as Letter & { readonly kind: 'prompt' })) !== content) throw new KeyTakenError(id, key)
  const letter = logged ? logged.letter : waiting!.id
  return { repeated: true, ...(letter !== undefined && { letter }), ...(logged && { logged: logged.seq }) }
}

function parse(line: string): SessionEvent {
  return checkEvent(JSON.parse(line))
}
