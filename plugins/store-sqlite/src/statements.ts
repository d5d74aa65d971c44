import type { Statement } from 'better-sqlite3'
import type { Handle } from './driver.ts'
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

const SESSION = 'key, id, next, bytes, modified, holder'
const ROW = 'seq, CAST(json AS BLOB) AS json, sum'

/** Everything that is asked of the database, prepared once. */
export class Statements {
  readonly session: Statement<[id: string], SessionRow>
  readonly sessions: Statement<[], SessionRow>
  readonly byKey: Statement<[key: number], SessionRow>
  readonly create: Statement<[id: string, modified: number, holder: string]>
  readonly remove: Statement<[key: number]>
  readonly hold: Statement<[holder: string, key: number]>
  readonly letGo: Statement<[key: number, holder: string]>
  readonly advance: Statement<[events: number, bytes: number, modified: number, key: number, next: number, holder: string]>
  readonly insert: Statement<[key: number, seq: number, json: string, sum: number]>
  readonly rows: Statement<[key: number, from: number, end: number], Row>
  readonly last: Statement<[key: number], Row>
  readonly removeEvents: Statement<[key: number]>
  readonly blob: Statement<[key: number, digest: string], Uint8Array>
  readonly putBlob: Statement<[key: number, digest: string, bytes: Uint8Array]>
  readonly removeBlobs: Statement<[key: number]>

  constructor(handle: Handle) {
    this.session = handle.prepare(`SELECT ${SESSION} FROM sessions WHERE id = ?`)
    this.sessions = handle.prepare(`SELECT ${SESSION} FROM sessions ORDER BY modified DESC, key DESC`)
    this.byKey = handle.prepare(`SELECT ${SESSION} FROM sessions WHERE key = ?`)
    this.create = handle.prepare('INSERT INTO sessions (id, next, bytes, modified, holder) VALUES (?, 0, 0, ?, ?)')
    this.remove = handle.prepare('DELETE FROM sessions WHERE key = ?')
    this.hold = handle.prepare('UPDATE sessions SET holder = ? WHERE key = ?')
    this.letGo = handle.prepare('UPDATE sessions SET holder = NULL WHERE key = ? AND holder = ?')
    this.advance = handle.prepare('UPDATE sessions SET next = next + ?, bytes = bytes + ?, modified = ? WHERE key = ? AND next = ? AND holder = ?')
    this.insert = handle.prepare('INSERT INTO events (session, seq, json, sum) VALUES (?, ?, ?, ?)')
    this.rows = handle.prepare(`SELECT ${ROW} FROM events WHERE session = ? AND seq >= ? AND seq < ? ORDER BY seq`)
    this.last = handle.prepare(`SELECT ${ROW} FROM events WHERE session = ? ORDER BY seq DESC LIMIT 1`)
    this.removeEvents = handle.prepare('DELETE FROM events WHERE session = ?')
    this.blob = handle.prepare<[number, string], Uint8Array>('SELECT bytes FROM blobs WHERE session = ? AND digest = ?').pluck()
    this.putBlob = handle.prepare('INSERT OR REPLACE INTO blobs (session, digest, bytes) VALUES (?, ?, ?)')
    this.removeBlobs = handle.prepare('DELETE FROM blobs WHERE session = ?')
  }
}
