import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sha256 } from '@headrace/message'
import { type Cursor, KeyTakenError, type KeptKey, type Letter, type LetterDraft, type Mailbox, type Posted, type Waiting, contentDigest } from '@headrace/session'
import { type FileLayer, isCode, writeAll } from './files.ts'

// A letter is a file of its own, linked into place whole: <order>-<id>. With a key it has a second name, key-<sha256 of
// the key>, which only one can have. Both are removed once an event names the letter; the key is in the list of keys by
// then.
const LETTER = /^(\d{12})-([0-9a-f-]{36})$/
const ABANDONED = 60 * 60 * 1_000

/** What is in a letter's file. */
interface Kept extends Waiting {
  /** The log it was posted to, by its first event: a later log with the same id does not get its letters. */
  readonly of: Cursor
}

/** A letter that is being posted. */
export interface Post {
  readonly id: string
  readonly draft: LetterDraft
  readonly after: number
  readonly of: Cursor
  /** Looks a key up in the log. */
  readonly find: (key: string) => Promise<KeptKey | undefined>
}

/** The letters to one session, in a folder of their own. */
export class MailFolder implements Mailbox {
  private readonly files: FileLayer
  private readonly directory: string
  private readonly of: () => Promise<Cursor | undefined>
  /** The names of the letters that were listed, by their ids. */
  private readonly names = new Map<string, readonly string[]>()

  /** @param of the log's first event; undefined while it has none */
  constructor(files: FileLayer, directory: string, of: () => Promise<Cursor | undefined>) {
    this.files = files
    this.directory = directory
    this.of = of
  }

  /** Makes the folder, to be watched. */
  make(): void {
    this.files.makeDirectory(this.directory)
  }

  async list(): Promise<readonly Waiting[]> {
    const entries = namesIn(this.directory)
    if (entries.length === 0) return []
    const of = await this.of()
    const waiting: Waiting[] = []
    for (const name of entries) {
      const kept = LETTER.test(name) ? read(join(this.directory, name)) : undefined
      if (!kept) {
        if (name.startsWith('draft-')) this.dropAbandoned(name)
        continue
      }
      const { letter } = kept
      const known = this.names.get(letter.id) ?? []
      this.names.set(letter.id, [...new Set([...known, name, ...(letter.kind === 'prompt' && letter.key !== undefined ? [claimOf(letter.key)] : [])])])
      if (kept.of !== of) await this.remove([letter.id])
      // A letter that was linked twice is one letter.
      else if (!waiting.some((other) => other.letter.id === letter.id)) waiting.push(kept)
    }
    return waiting
  }

  async remove(letters: readonly string[]): Promise<void> {
    if (letters.some((letter) => !this.names.has(letter))) await this.learn()
    for (const letter of letters) {
      // The claim first: a process that finds it gone finds the key in the log.
      for (const name of [...(this.names.get(letter) ?? [])].sort().reverse()) {
        if (!name.startsWith('key-') || read(join(this.directory, name))?.letter.id === letter) this.files.remove(join(this.directory, name))
      }
      this.names.delete(letter)
    }
  }

  /** Takes the folder away where it is empty. */
  tidy(): void {
    try {
      rmdirSync(this.directory)
    } catch { /* there is mail, or there never was */ }
  }

  /** Durable when it resolves. @throws KeyTakenError */
  async post({ id, draft, after, of, find }: Post): Promise<Posted> {
    const letter: Letter = { ...draft, id: randomUUID(), time: Date.now() }
    const { key, content } = draft.kind === 'prompt' && draft.key !== undefined ? { key: draft.key, content: contentDigest(draft) } : { key: undefined, content: '' }
    const known = key === undefined ? undefined : await find(key)
    if (known) return repeated(id, known, content)
    for (let attempt = 1; ; attempt++) {
      const path = this.write({ letter, after, of })
      try {
        await this.syncFile(path)
        for (;;) {
          if (key === undefined) {
            await this.deliver(path, letter.id)
            return { letter: letter.id }
          }
          const done = await this.claim({ id, key, content, of, path, find })
          if (done) return done
        }
      } catch (error) {
        // After a jump of the clock the draft looked abandoned.
        if (attempt > 1 || !isCode(error, 'ENOENT') || existsSync(path) || !existsSync(this.directory)) throw error
      } finally {
        this.files.remove(path)
      }
    }
  }

  /** One attempt to claim a key; undefined where it is to be tried again. */
  private async claim({ id, key, content, of, path, find }: { readonly id: string; readonly key: string; readonly content: string; readonly of: Cursor; readonly path: string; readonly find: Post['find'] }): Promise<Posted | undefined> {
    const claim = join(this.directory, claimOf(key))
    const mine = this.link(path, claim)
    const kept = read(claim)
    if (kept && kept.of !== of) {
      this.files.remove(claim)
      return undefined
    }
    // The letter may have been taken, and its claim removed, since the log was read.
    const known = await find(key)
    if (known) {
      if (mine && kept?.letter.id !== known.letter) this.files.remove(claim)
      return repeated(id, known, content)
    }
    if (!kept) return undefined
    const { letter } = kept
    if (letter.kind !== 'prompt' || contentDigest(letter) !== content) throw new KeyTakenError(id, key)
    // The claiming process may have been killed before delivery; delivering twice does no harm.
    if (mine || !namesIn(this.directory).some((name) => LETTER.exec(name)?.[2] === letter.id)) {
      if (!await this.deliverClaimed(claim, letter.id)) return undefined
    } else await this.files.syncDirectory(this.directory)
    return mine ? { letter: letter.id } : { letter: letter.id, repeated: true }
  }

  /**
   * Delivers the letter that holds a claim; false where it does not any more. It may have been taken, and another letter have the claim by
   * now, so its file gets a name that only this call knows before it is looked at.
   */
  private async deliverClaimed(claim: string, id: string): Promise<boolean> {
    const own = join(this.directory, `draft-${randomUUID()}`)
    try {
      this.link(claim, own)
      if (read(own)?.letter.id !== id) return false
      await this.deliver(own, id)
      return true
    } catch (error) {
      if (isCode(error, 'ENOENT')) return false
      throw error
    } finally {
      this.files.remove(own)
    }
  }

  private async deliver(path: string, id: string): Promise<void> {
    const newest = namesIn(this.directory).reduce((most, name) => Math.max(most, Number(LETTER.exec(name)?.[1] ?? -1)), -1)
    this.link(path, join(this.directory, `${String(newest + 1).padStart(12, '0')}-${id}`))
    await this.files.syncDirectory(this.directory)
  }

  private write(kept: Kept): string {
    for (;;) {
      this.files.makeDirectory(this.directory)
      const path = join(this.directory, `draft-${kept.letter.id}`)
      try {
        const fd = this.files.open(path, 'ax')
        try {
          writeAll(this.files, fd, Buffer.from(JSON.stringify(kept)))
        } finally {
          this.files.close(fd)
        }
        return path
      } catch (error) {
        // The holder of the session removes an empty folder.
        if (!isCode(error, 'ENOENT')) throw error
      }
    }
  }

  private async syncFile(path: string): Promise<void> {
    const fd = this.files.open(path, 'r')
    try {
      await this.files.sync(fd)
      await this.files.syncDirectory(dirname(this.directory))
    } finally {
      this.files.close(fd)
    }
  }

  /** False where the name is taken. */
  private link(from: string, to: string): boolean {
    try {
      this.files.link(from, to)
      return true
    } catch (error) {
      if (isCode(error, 'EEXIST')) return false
      throw error
    }
  }

  private async learn(): Promise<void> {
    for (const name of namesIn(this.directory)) {
      const letter = LETTER.test(name) || name.startsWith('key-') ? read(join(this.directory, name))?.letter : undefined
      if (letter) this.names.set(letter.id, [...new Set([...(this.names.get(letter.id) ?? []), name])])
    }
  }

  private dropAbandoned(name: string): void {
    const path = join(this.directory, name)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat && Date.now() - stat.mtimeMs > ABANDONED) this.files.remove(path)
  }
}

function claimOf(key: string): string {
  return `key-${sha256(key)}`
}

function repeated(id: string, { key, seq, content: kept, letter }: KeptKey, content: string): Posted {
  if (kept !== content) throw new KeyTakenError(id, key)
  return { repeated: true, logged: seq, ...(letter !== undefined && { letter }) }
}

/** Names sort in the order of the letters. */
function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).sort()
  } catch (error) {
    if (isCode(error, 'ENOENT')) return []
    throw error
  }
}

function read(path: string): Kept | undefined {
  try {
    const kept = JSON.parse(readFileSync(path, 'utf8')) as Kept | null
    return typeof kept?.letter?.id === 'string' ? kept : undefined
  } catch (error) {
    // Letters are linked whole: an unreadable one was cut by a power failure before it was acknowledged.
    if (error instanceof SyntaxError || isCode(error, 'ENOENT')) return undefined
    throw error
  }
}
