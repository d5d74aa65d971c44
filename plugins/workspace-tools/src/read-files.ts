import type { ToolRun } from '@headrace/agent'
import { cutAfter } from '@headrace/files'
import { WorkspaceError } from './error.ts'
import type { FileDetails } from './file-details.ts'
import { digestOf, toRecord } from './file-record.ts'

/** Bytes of a text that is kept for comparison, and how many texts are kept per session. */
const [MAX_TEXT, MAX_TEXTS] = [262_144, 200]
/** Of what changed, in a refusal. */
const [SHOWN_LINES, SHOWN_CHARACTERS] = [20, 2_000]

type SessionView = ToolRun['agent']['session']

/** What this process keeps of a session beside its log: only for better messages. */
interface Kept {
  /** Texts by their digest: to tell what changed. */
  readonly texts: Map<string, string>
  /** Records of results from before the part of the log in memory, by seq; read once. */
  older: Promise<ReadonlyMap<number, FileDetails>> | undefined
}

const sessions = new WeakMap<object, Kept>()

/**
 * Files as the model knows them: a file counts as read while the result that showed it, or wrote it, is visible. The log knows its digest,
 * so a resume knows it too, and what compaction hid or a rewind took back is read again before it is written.
 */
export function filesReadBy({ agent }: Pick<ToolRun, 'agent'>): ReadFiles {
  const { session } = agent
  const kept = sessions.get(session) ?? { texts: new Map<string, string>(), older: undefined }
  sessions.set(session, kept)
  return new ReadFiles(session, kept)
}

/** See {@link filesReadBy}. */
export class ReadFiles {
  private readonly session: SessionView
  private readonly kept: Kept

  constructor(session: SessionView, kept: Kept) {
    this.session = session
    this.kept = kept
  }

  /** Keeps a text in this process, so that a refusal can tell what changed since. */
  keep(bytes: Uint8Array): void {
    if (bytes.length > MAX_TEXT) return
    const { texts } = this.kept
    const digest = digestOf(bytes)
    texts.delete(digest)
    texts.set(digest, Buffer.from(bytes).toString('utf8'))
    const [oldest] = texts.keys()
    if (texts.size > MAX_TEXTS && oldest !== undefined) texts.delete(oldest)
  }

  /** The digest of the file as the model knows it. @param path as records call it */
  async digestOf(path: string): Promise<string | undefined> {
    const entries = this.session.entries()
    for (let at = entries.length - 1; at >= 0; at--) {
      const entry = entries[at]!
      if (entry.message.role !== 'tool') continue
      const record = await this.recordAt(entry.seq)
      if (record?.path === path) return record.sha256
    }
    return undefined
  }

  private async recordAt(seq: number): Promise<FileDetails | undefined> {
    if (seq < this.session.first) return (await (this.kept.older ??= this.readOlder())).get(seq)
    const event = this.session.at(seq)
    return event?.type === 'tool/result' ? toRecord(event.data.details) : undefined
  }

  private async readOlder(): Promise<ReadonlyMap<number, FileDetails>> {
    const records = new Map<number, FileDetails>()
    for (const event of await this.session.read(0, this.session.first)) {
      const record = event.type === 'tool/result' ? toRecord(event.data.details) : undefined
      if (record) records.set(event.seq, record)
    }
    return records
  }

  /**
   * @param known its digest, as {@link digestOf} gives it
   * @param bytes what the file holds now; nothing where it is gone
   * @throws WorkspaceError if that is not what the model knows: writing would undo what a person, or a command, did
   * meanwhile
   */
  mustBeKnown(known: string, bytes: Uint8Array | undefined, path: string, shown: string): void {
    // The file is gone, so it cannot be read again: the record allows the next write.
    if (bytes === undefined) throw new WorkspaceError('CHANGED', `${shown} was removed since you read it; nothing was written. Write it again if it is to be there.`, { details: { path, removed: true } })
    if (digestOf(bytes) === known) return
    const text = this.kept.texts.get(known)
    const changes = text === undefined ? '' : changedLines(text, Buffer.from(bytes).toString('utf8'))
    throw new WorkspaceError('CHANGED', `${shown} was changed since you read it, by someone else or by a command; nothing was written. Read it again first.${changes}`)
  }
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
