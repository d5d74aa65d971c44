import { realpathSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import * as storeJsonl from '@headrace/plugin-store-jsonl'
import { ExportedBlobs, JsonlStore, defaultDirectory, readLog } from '@headrace/plugin-store-jsonl'
import { Fold, type SessionEvent, type SessionStore } from '@headrace/session'
import type { Plugin } from 'cordis'
import { CommandError, UsageError } from './error.ts'
import { shellWord } from './text.ts'

export interface StoreOptions {
  /** `sqlite:<file>` or `jsonl:<folder>`. Default: `jsonl:~/.local/state/headrace/sessions`, or below `$XDG_STATE_HOME`. */
  readonly store?: string
}

/**
 * The store that `--store` names. @throws UsageError, CommandError where it is to be read and is not there; StoreError
 * without its driver
 */
export async function storeOf({ store: spec }: StoreOptions, use: 'to read' | 'to write' = 'to read'): Promise<SessionStore> {
  if (spec === undefined) return new JsonlStore({ directory: defaultDirectory(), fsync: 'barrier' })
  const { kind, path } = placeOf(spec)
  if (use === 'to read' && !statSync(path, { throwIfNoEntry: false })) throw new CommandError(`there is no store ${spec}`)
  if (kind === 'jsonl') return new JsonlStore({ directory: path, fsync: 'barrier' })
  const { SqliteStore } = await import('@headrace/plugin-store-sqlite')
  return new SqliteStore({ file: path, fsync: 'barrier' })
}

/** The plugin that provides that store, with its config. */
export async function storePlugin(spec: string): Promise<readonly [plugin: Plugin<object>, config: object]> {
  const { kind, path } = placeOf(spec)
  if (kind === 'jsonl') return [storeJsonl as Plugin<object>, { directory: path }]
  return [await import('@headrace/plugin-store-sqlite') as Plugin<object>, { file: path }]
}

/** The `--store` option to print behind a session's id; empty where the command finds the session without it. */
export function shownStore(location: string | undefined): string {
  if (location === undefined || location === `jsonl:${defaultDirectory()}`) return ''
  if (location === 'memory') return ' (kept in memory only: this app has no store)'
  return /^(sqlite|jsonl):/.test(location) ? ` (--store ${shellWord(location)})` : ` (in ${location})`
}

function placeOf(spec: string): { readonly kind: string; readonly path: string } {
  const [, kind, path] = /^(sqlite|jsonl):(.+)$/s.exec(spec) ?? []
  if (kind === undefined || path === undefined) throw new UsageError('--store must be sqlite:<file> or jsonl:<folder>')
  return { kind, path }
}

/** True for the path of a file, not a session's id. */
export function isFile(what: string): boolean {
  return /[/\\]|\.jsonl$/.test(what)
}

/** A log to read, from a store or a file. */
export interface Log {
  /** The session's id, or the file. */
  readonly name: string
  /** What to call it: `session s`, or the file. */
  readonly title: string
  batches(): AsyncIterable<readonly SessionEvent[]>
  /** The file that it is, where it is one. */
  readonly file?: string
  blob(digest: string): Promise<Uint8Array | undefined>
}

/**
 * The log that `<session | last | file>` names. `last` is this folder's newest session, never another folder's: it may be about to be
 * changed. What has a slash in it, or ends in `.jsonl`, is a file.
 *
 * @throws CommandError
 */
export async function findLog(store: SessionStore, what: string): Promise<Log> {
  if (isFile(what)) {
    if (!statSync(what, { throwIfNoEntry: false })?.isFile()) throw new CommandError(`there is no file ${what}`)
    const exported = new ExportedBlobs(what)
    const blob = async (digest: string): Promise<Uint8Array | undefined> => (await siblingBlob(what, digest)) ?? exported.get(digest)
    return { name: what, title: what, file: what, batches: () => readLog(what), blob }
  }
  const id = await sessionOf(store, what)
  // The store itself reports a session that does not exist.
  const file = store instanceof JsonlStore ? join(store.directory, `${id}.jsonl`) : undefined
  const isThere = file !== undefined && statSync(file, { throwIfNoEntry: false }) !== undefined
  return { name: id, title: `session ${id}`, ...(isThere && { file }), batches: () => store.load(id), blob: (digest) => store.getBlob(id, digest) }
}

/** Reads a blob stored beside a log's own file. */
export async function siblingBlob(path: string, digest: string): Promise<Uint8Array | undefined> {
  if (!/^[0-9a-f]{64}$/.test(digest)) return undefined
  return readFile(join(path.replace(/\.jsonl$/, '.blobs'), digest)).catch(() => undefined)
}

/** The session that `<session | last>` names, `last` this folder's newest. @throws CommandError */
export async function sessionOf(store: SessionStore, what: string): Promise<string> {
  return what === 'last' ? lastSession(store) : what
}

async function lastSession(store: SessionStore): Promise<string> {
  const cwd = folderOf('.')
  const last = await newestIn(store, cwd)
  if (last === undefined) throw new CommandError(`there is no session of ${cwd}; name one (headrace sessions lists them), or begin one with: headrace run "<prompt>"`)
  return last
}

/** The newest session of a folder that is not under another, by the store's cards. */
export async function newestIn(store: SessionStore, cwd: string): Promise<string | undefined> {
  for await (const { id, open } of store.list({ cwd })) if (!open?.under) return id
  return undefined
}

/** All events of a log. */
export async function readAll(log: Log): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of log.batches()) events.push(...batch)
  return events
}

/** A log folded to its end: what is open, queued and owed, and which model it was with. */
export async function foldOf(store: SessionStore, id: string): Promise<Fold> {
  const fold = new Fold()
  for await (const batch of store.load(id)) for (const event of batch) fold.apply(event)
  return fold
}

/** The real path of a folder. @throws UsageError where there is none */
export function folderOf(path: string): string {
  try {
    const real = realpathSync(resolve(path))
    if (statSync(real).isDirectory()) return real
  } catch { /* said below */ }
  throw new UsageError(`there is no folder ${path}`)
}
