import { StoreError } from '@headrace/session'
import type { Handle } from './driver.ts'

/** The application id in the file's header: `hdrc`. */
const APPLICATION = 0x68647263

/** The version of the tables below. */
export const SCHEMA_VERSION = 2

const TABLES = `
CREATE TABLE sessions (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  next INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  modified INTEGER NOT NULL,
  holder TEXT
) STRICT;
CREATE TABLE events (
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  json TEXT NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (session, seq)
) STRICT;
CREATE TABLE blobs (
  session INTEGER NOT NULL,
  digest TEXT NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (session, digest)
) STRICT;
CREATE TABLE mail (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  id TEXT NOT NULL UNIQUE,
  after INTEGER NOT NULL,
  json TEXT NOT NULL,
  prompt TEXT,
  content TEXT
) STRICT;
CREATE INDEX mail_of ON mail (session, key);
CREATE UNIQUE INDEX mail_prompt ON mail (session, prompt) WHERE prompt IS NOT NULL;
CREATE TABLE prompts (
  session INTEGER NOT NULL,
  prompt TEXT NOT NULL,
  seq INTEGER NOT NULL,
  content TEXT NOT NULL,
  letter TEXT,
  PRIMARY KEY (session, prompt)
) STRICT;
CREATE INDEX prompts_by_seq ON prompts (session, seq);
CREATE TABLE cards (
  session INTEGER PRIMARY KEY,
  cwd TEXT,
  under TEXT,
  json TEXT NOT NULL
) STRICT;
CREATE INDEX cards_in ON cards (cwd) WHERE cwd IS NOT NULL;
CREATE INDEX cards_under ON cards (under) WHERE under IS NOT NULL;
PRAGMA application_id = ${APPLICATION};
PRAGMA user_version = ${SCHEMA_VERSION};
`

/**
 * Whether the file has the tables yet. Changes nothing.
 *
 * @throws StoreError where it is a database of something else, or of a newer version
 */
export function hasTables(handle: Handle, file: string): boolean {
  const { application, version, tables } = headerOf(handle)
  if (application === 0 && version === 0 && tables === 0) return false
  if (application !== APPLICATION) throw new StoreError(`${file} is a SQLite database, but not one of sessions; name another file`, { code: 'STORE_FOREIGN' })
  if (version > SCHEMA_VERSION) {
    throw new StoreError(`${file} has version ${version} of the tables of store-sqlite, and this one knows up to ${SCHEMA_VERSION}; update @headrace/plugin-store-sqlite`, { code: 'STORE_VERSION' })
  }
  if (version < SCHEMA_VERSION) throw new StoreError(`${file} has version ${version} of the tables of store-sqlite, which was never published; name another file`, { code: 'STORE_VERSION' })
  return true
}

/** Reads one state of the database: another process may be making its tables right now. */
function headerOf(handle: Handle): { readonly application: number; readonly version: number; readonly tables: number } {
  return handle.deferred(() => ({
    application: handle.pragma('application_id') as number,
    version: handle.pragma('user_version') as number,
    tables: handle.prepare<[], { count: number }>('SELECT count(*) AS count FROM sqlite_schema').get()!.count,
  }))
}

/** Makes missing tables, in one transaction. */
export function makeTables(handle: Handle, file: string): void {
  handle.immediate(() => {
    if (!hasTables(handle, file)) handle.exec(TABLES)
  })
}
