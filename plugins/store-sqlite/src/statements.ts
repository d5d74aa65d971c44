import type { Handle, Statement } from './driver.ts'
import type { Row } from './row.ts'

/** A session as it is stored. */
export interface SessionRow {
  readonly key: number
  readonly id: string
  /** The seq that comes next. */
  readonly next: number
  /** Of its events. */
  readonly bytes: number
  readonly modified: number
  /** JSON of who writes it. */
  readonly holder: string | null
}

/** A letter as it is stored. */
export interface MailRow {
  readonly id: string
  readonly after: number
  readonly json: string
  readonly content: string | null
}

/** A key of a prompt as it is stored. */
export interface PromptRow {
  readonly seq: number
  readonly content: string
  readonly letter: string | null
}

const SESSION = 'key, id, next, bytes, modified, holder'
const ROW = 'seq, CAST(json AS BLOB) AS json, sum'
const MAIL = 'id, after, json, content'
const NEWEST = 'ORDER BY modified DESC, key DESC'

/** All statements, prepared once. */
export class Statements {
  readonly session: Statement<[id: string], SessionRow>
  readonly byKey: Statement<[key: number], SessionRow>
  readonly create: Statement<[id: string, modified: number, holder: string]>
  readonly remove: Statement<[key: number]>
  readonly hold: Statement<[holder: string, key: number]>
  readonly letGo: Statement<[key: number, holder: string]>
  readonly advance: Statement<[events: number, bytes: number, modified: number, key: number, next: number, holder: string]>
  readonly insert: Statement<[key: number, seq: number, json: string, sum: number]>
  readonly rows: Statement<[key: number, from: number, end: number], Row>
  readonly last: Statement<[key: number], Row>
  /** The rows of events from a rowid on, without their index. */
  readonly rowsFrom: Statement<[rowid: number], { readonly rowid: number; readonly session: number; readonly seq: number }>
  readonly row: Statement<[rowid: number], Row>
  readonly removeEvents: Statement<[key: number]>
  readonly blob: Statement<[key: number, digest: string], { readonly bytes: Uint8Array }>
  readonly putBlob: Statement<[key: number, digest: string, bytes: Uint8Array]>
  readonly removeBlobs: Statement<[key: number]>
  readonly card: Statement<[key: number], { readonly json: string }>
  readonly putCard: Statement<[key: number, cwd: string | null, under: string | null, json: string]>
  readonly removeCard: Statement<[key: number]>
  readonly uncarded: Statement<[], { readonly key: number }>
  readonly listAll: Statement<[], { readonly key: number }>
  readonly listIn: Statement<[cwd: string], { readonly key: number }>
  readonly listUnder: Statement<[under: string], { readonly key: number }>
  readonly mail: Statement<[key: number], MailRow>
  readonly mailOf: Statement<[key: number, prompt: string], MailRow>
  readonly post: Statement<[key: number, id: string, after: number, json: string, prompt: string | null, content: string | null]>
  readonly removeLetter: Statement<[key: number, id: string]>
  readonly removeMail: Statement<[key: number]>
  readonly prompt: Statement<[key: number, prompt: string], PromptRow>
  readonly putPrompt: Statement<[key: number, prompt: string, seq: number, content: string, letter: string | null]>
  readonly forgetPrompts: Statement<[key: number, same: number, kept: number]>
  readonly removePrompts: Statement<[key: number]>

  constructor(handle: Handle) {
    this.session = handle.prepare(`SELECT ${SESSION} FROM sessions WHERE id = ?`)
    this.byKey = handle.prepare(`SELECT ${SESSION} FROM sessions WHERE key = ?`)
    this.create = handle.prepare('INSERT INTO sessions (id, next, bytes, modified, holder) VALUES (?, 0, 0, ?, ?)')
    this.remove = handle.prepare('DELETE FROM sessions WHERE key = ?')
    this.hold = handle.prepare('UPDATE sessions SET holder = ? WHERE key = ?')
    this.letGo = handle.prepare('UPDATE sessions SET holder = NULL WHERE key = ? AND holder = ?')
    this.advance = handle.prepare('UPDATE sessions SET next = next + ?, bytes = bytes + ?, modified = ? WHERE key = ? AND next = ? AND holder = ?')
    this.insert = handle.prepare('INSERT INTO events (session, seq, json, sum) VALUES (?, ?, ?, ?)')
    this.rows = handle.prepare(`SELECT ${ROW} FROM events WHERE session = ? AND seq >= ? AND seq < ? ORDER BY seq`)
    this.last = handle.prepare(`SELECT ${ROW} FROM events WHERE session = ? ORDER BY seq DESC LIMIT 1`)
    this.rowsFrom = handle.prepare('SELECT rowid AS rowid, session, seq FROM events NOT INDEXED WHERE rowid >= ? ORDER BY rowid')
    this.row = handle.prepare(`SELECT ${ROW} FROM events NOT INDEXED WHERE rowid = ?`)
    this.removeEvents = handle.prepare('DELETE FROM events WHERE session = ?')
    this.blob = handle.prepare('SELECT bytes FROM blobs WHERE session = ? AND digest = ?')
    this.putBlob = handle.prepare('INSERT OR REPLACE INTO blobs (session, digest, bytes) VALUES (?, ?, ?)')
    this.removeBlobs = handle.prepare('DELETE FROM blobs WHERE session = ?')
    this.card = handle.prepare('SELECT json FROM cards WHERE session = ?')
    this.putCard = handle.prepare('INSERT OR REPLACE INTO cards (session, cwd, under, json) VALUES (?, ?, ?, ?)')
    this.removeCard = handle.prepare('DELETE FROM cards WHERE session = ?')
    this.uncarded = handle.prepare('SELECT key FROM sessions WHERE next > 0 AND key NOT IN (SELECT session FROM cards)')
    this.listAll = handle.prepare(`SELECT key FROM sessions ${NEWEST}`)
    this.listIn = handle.prepare(`SELECT key FROM sessions JOIN cards ON session = key WHERE cwd = ? ${NEWEST}`)
    this.listUnder = handle.prepare(`SELECT key FROM sessions JOIN cards ON session = key WHERE under = ? ${NEWEST}`)
    this.mail = handle.prepare(`SELECT ${MAIL} FROM mail WHERE session = ? ORDER BY key`)
    this.mailOf = handle.prepare(`SELECT ${MAIL} FROM mail WHERE session = ? AND prompt = ?`)
    this.post = handle.prepare('INSERT INTO mail (session, id, after, json, prompt, content) VALUES (?, ?, ?, ?, ?, ?)')
    this.removeLetter = handle.prepare('DELETE FROM mail WHERE session = ? AND id = ?')
    this.removeMail = handle.prepare('DELETE FROM mail WHERE session = ?')
    this.prompt = handle.prepare('SELECT seq, content, letter FROM prompts WHERE session = ? AND prompt = ?')
    this.putPrompt = handle.prepare('INSERT OR IGNORE INTO prompts (session, prompt, seq, content, letter) VALUES (?, ?, ?, ?, ?)')
    this.forgetPrompts = handle.prepare('DELETE FROM prompts WHERE session = ? AND seq < (SELECT seq FROM prompts WHERE session = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)')
    this.removePrompts = handle.prepare('DELETE FROM prompts WHERE session = ?')
  }
}
