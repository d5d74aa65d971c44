import fs from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { messageOf } from '@headrace/message'
import { SharedSync, StoreError } from '@headrace/session'
import { type Handle, isSqlite, loadDriver } from './driver.ts'
import { hasTables, makeTables } from './schema.ts'
import { Statements } from './statements.ts'

export interface DatabaseOptions {
  readonly file: string
  readonly fsync: 'barrier' | 'never'
  /** Milliseconds. */
  readonly busyTimeout: number
  /** Makes the bytes of an open file durable; this machine's, unless given. */
  readonly sync?: (fd: number) => Promise<void>
}

const datasync = promisify(fs.fdatasync)
const fsyncFile = promisify(fs.fsync)

/**
 * One connection, and the syncs of its write-ahead log. Commits write to that log and do not sync it (`synchronous = NORMAL`); a flush
 * syncs it once for all that wait, outside this thread. What a checkpoint moves into the database it syncs itself, before the log is
 * written from its beginning again.
 */
export class Database {
  readonly file: string
  readonly statements: Statements
  private readonly handle: Handle
  private readonly log: number
  private readonly syncs: SharedSync
  private failure: { readonly error: unknown } | undefined
  private readonly users = new Set<object>()
  private closing = false
  private readonly run: <T>(work: () => T) => T
  private readonly runNow: <T>(work: () => T) => T

  /** @throws StoreError, or what SQLite throws */
  static async open(options: DatabaseOptions): Promise<Database> {
    const driver = await loadDriver()
    const file = resolve(options.file)
    const made = makeFile(file)
    const handle = new driver(file, { timeout: options.busyTimeout })
    try {
      await prepare(handle, file, Date.now() + options.busyTimeout)
      const database = new Database(handle, file, options)
      if (options.fsync === 'barrier') for (const folder of made) await syncFolder(folder)
      return database
    } catch (error) {
      handle.close()
      throw error
    }
  }

  private constructor(handle: Handle, file: string, { fsync, sync = datasync }: DatabaseOptions) {
    this.handle = handle
    this.file = file
    this.statements = new Statements(handle)
    // Locks are on the database and its -shm file, never on this one, so that it may be opened beside SQLite. It stays the same file while
    // a connection is open; kept open, it reports a write that failed since, also where somebody else's sync saw it first.
    this.log = fs.openSync(`${file}-wal`, 'r+')
    this.syncs = new SharedSync(fsync === 'never' ? () => Promise.resolve() : () => sync(this.log))
    const transaction = handle.transaction((work: () => unknown) => work())
    this.run = transaction.deferred as typeof this.run
    this.runNow = transaction.immediate as typeof this.run
  }

  /** True after a sync that failed: what the disk holds is not known. */
  get failed(): boolean {
    return this.failure !== undefined
  }

  /** True while somebody means to write through it. */
  get used(): boolean {
    return this.users.size > 0
  }

  /** Reads from one state of the database. */
  read<T>(work: () => T): T {
    return this.run(work)
  }

  /** Writes in one transaction: all or nothing, and there when it returns, whatever happens to this process. */
  write<T>(work: () => T): T {
    if (this.failure) throw this.failure.error
    const result = this.runNow(work)
    this.syncs.wrote()
    return result
  }

  /** Resolves when everything written so far survives a power cut. */
  async flush(): Promise<void> {
    try {
      await this.syncs.flush()
    } catch (error) {
      this.failure ??= { error: new StoreError(`${this.file} cannot be synced (${messageOf(error)}); what was not acknowledged may be lost`, { cause: error }) }
      throw this.failure.error
    }
  }

  /** Gives pages that nothing uses any more back to the file system, some at a time. */
  async shrink(): Promise<void> {
    for (let left = Infinity; ;) {
      if (this.closing) return
      const now = this.handle.pragma('freelist_count', { simple: true }) as number
      if (now === 0 || now >= left) return
      left = now
      this.write(() => this.handle.pragma(`incremental_vacuum(${VACUUM_PAGES})`))
      await sleep(0)
    }
  }

  /** Keeps it from closing. */
  use(user: object): void {
    this.users.add(user)
  }

  async leave(user: object): Promise<void> {
    this.users.delete(user)
    if (this.closing) await this.end()
  }

  /** Closes it, now or when the last one who uses it leaves. */
  async close(): Promise<void> {
    this.closing = true
    await this.end()
  }

  private async end(): Promise<void> {
    await this.syncs.idle()
    if (this.users.size > 0 || !this.handle.open) return
    this.handle.close()
    fs.closeSync(this.log)
  }
}

/** Enough to be done soon, few enough not to hold others up. */
const VACUUM_PAGES = 500

/** Makes the file, for its owner only, where it is not there. Returns the folders that have new entries by that. */
function makeFile(file: string): readonly string[] {
  const folder = dirname(file)
  const top = fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  try {
    // Only one that is new may be opened beside SQLite: closing it again would take the locks off a file that another connection has open.
    fs.closeSync(fs.openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return []
    throw error
  }
  const folders = [folder]
  if (top !== undefined) for (let made = folder; made.length >= top.length; made = dirname(made)) folders.push(dirname(made))
  return folders
}

async function prepare(handle: Handle, file: string, until: number): Promise<void> {
  for (;;) {
    try {
      if (!hasTables(handle, file)) handle.pragma('auto_vacuum = INCREMENTAL')
      const mode = handle.pragma('journal_mode = WAL', { simple: true })
      if (mode !== 'wal') throw new StoreError(`${file} cannot keep a write-ahead log (its journal mode stays ${String(mode)}); put it on a local disk`)
      handle.pragma('synchronous = NORMAL')
      handle.pragma('checkpoint_fullfsync = ON')
      return makeTables(handle, file)
    } catch (error) {
      // Where two processes begin at once, SQLite does not always wait by itself.
      if (!isSqlite(error, 'SQLITE_BUSY') || Date.now() > until) throw error
      await sleep(10)
    }
  }
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return // has no such call; NTFS journals its entries
  const fd = fs.openSync(folder, 'r')
  try {
    await fsyncFile(fd)
  } finally {
    fs.closeSync(fd)
  }
}
