import { createHash } from 'node:crypto'
import type { ToolRun } from '@headrace/agent'
import { cutAfter } from '@headrace/files'
import { WorkspaceError } from './error.ts'

/** A file as the model was last shown it, or left it. */
interface KnownFile {
  readonly digest: string
  /** Its text, where that is short: to tell what changed. */
  readonly text?: string
}

/** Bytes of a text that is kept to be compared. */
const MAX_TEXT = 262_144
/** Files of one session that are remembered; then the oldest is forgotten, and may be written again. */
const MAX_FILES = 500
/** Of what changed, in a refusal. */
const [SHOWN_LINES, SHOWN_CHARACTERS] = [20, 2_000]

const sessions = new WeakMap<object, Map<string, KnownFile>>()

/** What the files of a session were when the model last read or wrote them. A session that goes on in another process knows none. */
export function filesReadBy({ agent }: ToolRun): ReadFiles {
  const key: object = 'session' in agent ? agent.session : agent
  const known = sessions.get(key) ?? new Map<string, KnownFile>()
  sessions.set(key, known)
  return new ReadFiles(known)
}

/** See {@link filesReadBy}. */
export class ReadFiles {
  private readonly known: Map<string, KnownFile>

  constructor(known: Map<string, KnownFile>) {
    this.known = known
  }

  /** @param real the path without links */
  note(real: string, bytes: Uint8Array): void {
    this.known.delete(real)
    this.known.set(real, { digest: digestOf(bytes), ...(bytes.length <= MAX_TEXT && { text: Buffer.from(bytes).toString('utf8') }) })
    const [oldest] = this.known.keys()
    if (this.known.size > MAX_FILES && oldest !== undefined) this.known.delete(oldest)
  }

  has(real: string): boolean {
    return this.known.has(real)
  }

  /**
   * @param bytes what the file holds now; nothing where it is gone
   * @throws WorkspaceError if that is not what the model knows: it would undo what a person, or a command, did meanwhile
   */
  mustBeKnown(real: string, bytes: Uint8Array | undefined, shown: string): void {
    const known = this.known.get(real)
    if (!known) return
    if (bytes === undefined) {
      // There is nothing to read again: whoever still wants the file writes it once more.
      this.known.delete(real)
      throw new WorkspaceError('CHANGED', `${shown} was removed since you read it; nothing was written. Write it again if it is to be there.`)
    }
    if (digestOf(bytes) === known.digest) return
    const changes = known.text === undefined ? '' : changedLines(known.text, Buffer.from(bytes).toString('utf8'))
    throw new WorkspaceError('CHANGED', `${shown} was changed since you read it, by someone else or by a command; nothing was written. Read it again first.${changes}`)
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64')
}

/** The lines between the first and the last that differ, as they are now. */
function changedLines(before: string, now: string): string {
  const [old, lines] = [before.split(/\r?\n/), now.split(/\r?\n/)]
  let first = 0
  while (first < old.length && first < lines.length && old[first] === lines[first]) first++
  let behind = 0
  while (behind < Math.min(old.length, lines.length) - first && old.at(-1 - behind) === lines.at(-1 - behind)) behind++
  const changed = lines.slice(first, lines.length - behind)
  if (changed.length === 0) return old.length === lines.length ? '' : ` Lines were removed behind line ${first}.`
  const shown = changed.slice(0, SHOWN_LINES).map((line, index) => `${first + index + 1}\t${line}`).join('\n')
  const more = changed.length > SHOWN_LINES || shown.length > SHOWN_CHARACTERS ? '\n[…]' : ''
  return ` What differs now:\n${cutAfter(shown, SHOWN_CHARACTERS)}${more}`
}
