import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Digest, messageOf } from '@headrace/message'
import {
  type Cursor, type FollowOptions, type Followed, type Lease, type Letter, type LetterDraft, type ListFilter,
  type Posted, type SessionCard, type SessionEvent, SessionExistsError, SessionNotFoundError, type SessionStore,
  Signals, StoreError, checkLetter, checkSessionId, cursorOf, follow, mailOf, watchPath,
} from '@headrace/session'
import { readBlob, writeBlob } from './blobs.ts'
import { CardFolder } from './cards.ts'
import { LogFile } from './file.ts'
import { type FileLayer, isCode, nodeFiles, withoutSync } from './files.ts'
import { KeyWriter } from './keys.ts'
import { JsonlLease } from './lease.ts'
import { Listing } from './listing.ts'
import type { Lock } from './lease-lock.ts'
import { findKey, readBehind, readEvents } from './log.ts'
import { MailFolder } from './mail.ts'
import { type End, guarded, locked, reading, repair, withLog } from './opening.ts'
import { LogReader, type Place, readEnd, readFirst } from './reader.ts'

/** Options of a `JsonlStore`. */
export interface JsonlStoreOptions {
  /** The folder of the logs; made with mode 0700 on first use. */
  readonly directory: string
  /** `barrier`: what `flush` acknowledges survives a power cut (L17). `never`: a kill only; outside L17. */
  readonly fsync: 'barrier' | 'never'
  /** This machine's, unless given. */
  readonly files?: FileLayer
}

/**
 * Sessions as JSON lines: `<id>.jsonl`, one append a line; `<id>.blobs/<sha256>`; `<id>.lock` while it is written; `<id>.mail/` and
 * `<id>.keys` where letters came; `.cards/`, a cache.
 *
 * ```ts
 * const store = new JsonlStore({ directory: '/var/lib/app/sessions', fsync: 'barrier' })
 * const session = await Session.open(store, 'demo')
 * ```
 */
export class JsonlStore implements SessionStore {
  readonly location: string
  readonly directory: string
  private readonly files: FileLayer
  private readonly cards: CardFolder
  private readonly signals = new Signals()
  /** Those of this store that are open. */
  private readonly leases = new Map<string, JsonlLease>()
  private readonly listing: Listing

  constructor({ directory, fsync, files = nodeFiles }: JsonlStoreOptions) {
    this.location = `jsonl:${directory}`
    this.directory = directory
    this.files = fsync === 'never' ? withoutSync(files) : files
    this.cards = new CardFolder(directory)
    this.listing = new Listing(directory, this.files, this.cards)
  }

  async create(id: string): Promise<Lease> {
    checkSessionId(id)
    const path = this.pathOf(id)
    return guarded(id, `create ${path}`, async () => {
      await this.makeDirectory()
      if (existsSync(path)) throw new SessionExistsError(id)
      return locked(this.directory, id, async (lock) => {
        // The folder of a session whose log was deleted by hand.
        this.removeBeside(id)
        return this.begin(id, lock, new LogFile(this.files, this.openNew(id)), { size: 0, next: 0, seed: undefined })
      })
    })
  }

  async lease(id: string): Promise<Lease> {
    this.check(id)
    const path = this.pathOf(id)
    return guarded(id, `lease ${path}`, () => locked(this.directory, id, async (lock) => {
      const file = LogFile.open(this.files, id, path, 'a')
      try {
        return await this.begin(id, lock, file, await repair(this.files, file, { id, path }))
      } catch (error) {
        file.close()
        throw error
      }
    }))
  }

  async *load(id: string): AsyncIterable<readonly SessionEvent[]> {
    yield* reading(this.files, this.placeOf(id), (file, place) => new LogReader(file, place).batches())
  }

  async *read(id: string, from: number, to: number): AsyncIterable<readonly SessionEvent[]> {
    yield* reading(this.files, this.placeOf(id), (file, place) => readEvents(file, place, Math.max(0, from), to))
  }

  follow(id: string, options: FollowOptions = {}): AsyncIterable<Followed> {
    checkSessionId(id)
    const held = (): JsonlLease | undefined => this.held(id)
    const watch = (onChange: () => void): (() => void) => {
      const off = this.signals.on(id, onChange)
      // A writer in this process notifies by itself.
      const unwatch = watchPath(this.pathOf(id), () => { if (!held()) onChange() }, { every: FOLLOWED, keepAlive: true })
      return () => {
        off()
        unwatch()
      }
    }
    return follow({ look: this.looks(id), watch }, options)
  }

  async post(id: string, draft: LetterDraft): Promise<Posted> {
    this.check(id)
    const letter = checkLetter(id, draft)
    return guarded(id, `post a letter in ${this.mailOf(id)}`, () => withLog(this.files, this.placeOf(id), async (file, place) => {
      const first = await readFirst(file, place)
      // Nothing was acknowledged yet.
      if (!first) throw new SessionNotFoundError(id)
      const { next: after } = await readEnd(file, place)
      const mail = this.mailFolder(id)
      const find = (key: string): ReturnType<typeof findKey> => findKey(file, place, this.keysOf(id), key)
      const posted = await mail.post({ id, draft: letter, after, of: cursorOf(id, first), find }).catch((error: unknown) => {
        if (file.isAt(place.path)) throw error
        mail.tidy()
        throw new SessionNotFoundError(id)
      })
      if (!file.isAt(place.path)) {
        if (posted.letter !== undefined) await mail.remove([posted.letter])
        mail.tidy()
        throw new SessionNotFoundError(id)
      }
      this.signals.emit(mailOf(id))
      return posted
    }))
  }

  async letters(id: string): Promise<readonly Letter[]> {
    this.check(id)
    return guarded(id, `read the letters in ${this.mailOf(id)}`, async () => (await this.mailFolder(id).list()).map(({ letter }) => letter))
  }

  async card(id: string): Promise<SessionCard> {
    this.check(id)
    return guarded(id, `read the card of ${this.pathOf(id)}`, async () => {
      const card = await this.listing.card(id)
      if (!card) throw new SessionNotFoundError(id)
      return card
    })
  }

  async *list(filter: ListFilter = {}): AsyncIterable<SessionCard> {
    yield* this.listing.cards(await this.names(), filter)
  }

  async remove(id: string): Promise<void> {
    this.check(id)
    await guarded(id, `remove ${this.pathOf(id)}`, () => locked(this.directory, id, async (lock) => {
      this.files.remove(this.pathOf(id))
      this.files.remove(this.blobsOf(id))
      this.removeBeside(id)
      await this.files.syncDirectory(this.directory)
      lock.release()
      this.signals.emit(id)
    }))
  }

  async putBlob(id: string, bytes: Uint8Array): Promise<Digest> {
    this.check(id)
    return guarded(id, `keep a blob in ${this.blobsOf(id)}`, () => writeBlob(this.files, this.blobsOf(id), bytes))
  }

  async getBlob(id: string, digest: Digest): Promise<Uint8Array | undefined> {
    this.check(id)
    return guarded(id, `read a blob in ${this.blobsOf(id)}`, () => readBlob(id, this.blobsOf(id), digest))
  }

  /**
   * Polls one log: gives what the writer in this process has flushed; events of other writers are synced here first.
   */
  private looks(id: string): (from: Cursor | undefined) => AsyncIterable<Followed> {
    let given: Cursor | undefined
    let seen = ''
    const { files } = this
    const place = this.placeOf(id)
    const held = (): JsonlLease | undefined => this.held(id)
    return (from) => reading(this.files, this.placeOf(id), async function* (file) {
      const lease = held()
      lease?.flushSoon()
      const { size, mark } = file
      const before = lease?.durable ?? Infinity
      // The last cursor is not looked up again where nothing changed.
      if (from === given && seen === `${mark}/${before}`) return
      if (!lease) await files.sync(file.fd)
      for await (const item of readBehind(file, place, from, { size, before })) {
        given = 'reset' in item ? undefined : item.cursor
        yield item
      }
      seen = `${mark}/${before}`
    })
  }

  private held(id: string): JsonlLease | undefined {
    const lease = this.leases.get(id)
    return lease?.isOpen ? lease : undefined
  }

  private async begin(id: string, lock: Lock, file: LogFile, end: End): Promise<JsonlLease> {
    const path = this.pathOf(id)
    const state = end.next === 0 ? { asks: [], queued: 0 } : await this.listing.stateOf(id).catch(() => ({ asks: [], queued: 0 }))
    const lease = new JsonlLease({
      id,
      path,
      ...end,
      card: state,
      files: this.files,
      lock,
      keys: new KeyWriter(this.files, this.keysOf(id), end.next),
      mailbox: this.mailFolder(id),
      mailDirectory: this.mailOf(id),
      read: (from, to) => this.read(id, from, to),
      signals: this.signals,
      keepCard: (card) => this.cards.write(id, card),
      onRelease: () => void (this.leases.get(id) === lease && this.leases.delete(id)),
    }, file)
    this.leases.set(id, lease)
    this.signals.emit(id)
    return lease
  }

  private openNew(id: string): number {
    try {
      return this.files.open(this.pathOf(id), 'ax')
    } catch (error) {
      throw isCode(error, 'EEXIST') ? new SessionExistsError(id) : error
    }
  }

  private mailFolder(id: string): MailFolder {
    const of = (): Promise<Cursor | undefined> => withLog(this.files, this.placeOf(id), async (file, place) => {
      const first = await readFirst(file, place)
      return first && cursorOf(id, first)
    })
    return new MailFolder(this.files, this.mailOf(id), of)
  }

  /** The files beside a log that are removed with it, except blobs. */
  private removeBeside(id: string): void {
    this.files.remove(this.mailOf(id))
    this.files.remove(this.keysOf(id))
    this.cards.remove(id)
  }

  private async makeDirectory(): Promise<void> {
    const top = this.files.makeDirectory(this.directory)
    if (top === undefined) return
    for (let made = this.directory; made.length >= top.length; made = dirname(made)) await this.files.syncDirectory(dirname(made))
  }

  private async names(): Promise<readonly string[]> {
    try {
      return await readdir(this.directory)
    } catch (error) {
      if (isCode(error, 'ENOENT')) return []
      throw new StoreError(`cannot list ${this.directory} (${messageOf(error)})`, { cause: error })
    }
  }

  /** @throws StoreError for a hostile id, SessionNotFoundError */
  private check(id: string): void {
    checkSessionId(id)
    if (!existsSync(this.pathOf(id))) throw new SessionNotFoundError(id)
  }

  /** @throws StoreError for a hostile id */
  private placeOf(id: string): Place {
    checkSessionId(id)
    return { id, path: this.pathOf(id) }
  }

  private pathOf(id: string): string {
    return join(this.directory, `${id}.jsonl`)
  }

  private mailOf(id: string): string {
    return join(this.directory, `${id}.mail`)
  }

  private keysOf(id: string): string {
    return join(this.directory, `${id}.keys`)
  }

  private blobsOf(id: string): string {
    return join(this.directory, `${id}.blobs`)
  }
}

/** How often a log of another writer is polled where the file system sends no notice, in milliseconds. */
const FOLLOWED = 500
