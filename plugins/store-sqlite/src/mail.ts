import { randomUUID } from 'node:crypto'
import { closeSync, openSync, utimesSync } from 'node:fs'
import { KeyTakenError, type Letter, type LetterDraft, type Mailbox, type Posted, type Waiting, contentDigest } from '@headrace/session'
import type { Database } from './database.ts'
import { bellOf } from './lease.ts'
import type { SessionRow, Statements } from './statements.ts'

/** The letters to one session. */
export function mailboxOf(database: Database, key: number): Mailbox {
  return {
    list: async () => lettersOf(database, key),
    remove: async (letters) => database.writeLazily(() => letters.forEach((letter) => database.statements.removeLetter.run(key, letter))),
  }
}

export function lettersOf(database: Database, key: number): readonly Waiting[] {
  return database.statements.mail.all(key).map(({ after, json }) => ({ letter: JSON.parse(json) as Letter, after }))
}

/** Stores a letter, in the open transaction. @throws KeyTakenError */
export function keepLetter({ prompt, mailOf, post }: Statements, { id, key, next }: SessionRow, draft: LetterDraft): Posted {
  const letter: Letter = { ...draft, id: randomUUID(), time: Date.now() }
  if (letter.kind !== 'prompt' || letter.key === undefined) {
    post.run(key, letter.id, next, JSON.stringify(letter), null, null)
    return { letter: letter.id }
  }
  const content = contentDigest(letter)
  const logged = prompt.get(key, letter.key)
  const waiting = logged ? undefined : mailOf.get(key, letter.key)
  const known = logged ?? waiting
  if (!known) {
    post.run(key, letter.id, next, JSON.stringify(letter), letter.key, content)
    return { letter: letter.id }
  }
  if (known.content !== content) throw new KeyTakenError(id, letter.key)
  const first = logged ? logged.letter : waiting!.id
  return { repeated: true, ...(first !== null && { letter: first }), ...(logged && { logged: logged.seq }) }
}

/** Notifies those who wait for a letter, in any process. */
export function ring(file: string): void {
  const bell = bellOf(file)
  try {
    closeSync(openSync(bell, 'a', 0o600))
    utimesSync(bell, new Date(), new Date())
  } catch {
    // They poll, too.
  }
}
