import fs from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { messageOf } from '@headrace/message'
import { SharedSync, StoreError } from '@headrace/session'
import { type Driver, type Handle, isSqlite, loadDriver } from './driver.ts'
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
 * One connection, and the syncs of its write-ahead log. Commits write to that log and do not sync it (`synchronous =
 * NORMAL`); a flush syncs it once for all waiting callers, outside this thread. A checkpoint syncs what it moves into
 * the database itself, before the log is overwritten from its beginning.
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
  private readonly driver: Driver
  private readonly busyTimeout: number
  /** The identity of the files. */
  private readonly inode: bigint
  private readonly logInode: bigint
  /** The sizes of both files at the last check. */
  private size = 0
  private logSize = 0
  /**
   * The log was once shorter than expected. SQLite continues at its own idea of the end, which would hide that later.
   */
  private isCut = false

  /** @throws StoreError, or what SQLite throws */
  static async open(options: DatabaseOptions): Promise<Database> {
    const driver = await loadDriver()
    const file = resolve(options.file)
    const made = makeFile(file)
    const handle = driver(file, options.busyTimeout)
    try {
      await prepare(handle, file, Date.now() + options.busyTimeout)
      const database = new Database(driver, handle, file, options)
      if (options.fsync === 'barrier') for (const folder of made) await syncFolder(folder)
      return database
    } catch (error) {
      handle.close()
      throw error
    }
  }

  private constructor(driver: Driver, handle: Handle, file: string, { fsync, sync = datasync, busyTimeout }: DatabaseOptions) {
    this.driver = driver
    this.busyTimeout = busyTimeout
    this.handle = handle
    this.file = file
    this.statements = new Statements(handle)
    // Locks are on the database and its -shm file, never on this one, so that it may be opened beside SQLite. It stays
    // the same file while a connection is open; kept open, it reports a write that failed since, also where another
    // process's sync saw it first.
    this.log = fs.openSync(`${file}-wal`, 'r+')
    this.inode = fs.statSync(file, { bigint: true }).ino
    this.logInode = fs.fstatSync(this.log, { bigint: true }).ino
    this.syncs = new SharedSync(fsync === 'never' ? () => Promise.resolve() : () => sync(this.log))
  }

  /** False once another file, or none, is at this database's path: later writes would be lost. */
  get isThere(): boolean {
    return fs.statSync(this.file, { bigint: true, throwIfNoEntry: false })?.ino === this.inode
  }

  /**
   * What another program did to the files; undefined where nothing is seen. Where one got shorter, which SQLite may
   * have done itself, a new connection must find what this one wrote.
   *
   * @param finds asks the new connection
   */
  problem(finds: (statements: Statements) => boolean): string | undefined {
    const now = fs.statSync(this.file, { bigint: true, throwIfNoEntry: false })
    const log = fs.statSync(`${this.file}-wal`, { bigint: true, throwIfNoEntry: false })
    if (now?.ino !== this.inode) return 'was removed, or another file was put in its place'
    if (log?.ino !== this.logInode) return 'lost its write-ahead log, which was removed or replaced'
    this.lookAtLog()
    if (now.size >= this.size && !this.isCut) {
      this.size = Number(now.size)
      return undefined
    }
    if (!this.found(finds)) return 'was cut off, or its write-ahead log was'
    this.isCut = false
    this.size = Number(now.size)
    return undefined
  }

  private lookAtLog(): void {
    const { size } = fs.fstatSync(this.log)
    if (size < this.logSize) this.isCut = true
    this.logSize = size
  }

  private found(finds: (statements: Statements) => boolean): boolean {
    let second: Handle | undefined
    try {
      second = this.driver(this.file, this.busyTimeout)
      return finds(new Statements(second))
    } catch {
      return false
    } finally {
      second?.close()
    }
  }

  /** True after a failed sync: what is on the disk is unknown. */
  get failed(): boolean {
    return this.failure !== undefined
  }

  /** True while a lease uses it. */
  get used(): boolean {
    return this.users.size > 0
  }

  /** Reads from one state of the database. */
  read<T>(work: () => T): T {
    return this.handle.deferred(work)
  }

  /** Writes in one transaction: all or nothing, and there when it returns, whatever happens to this process. */
  write<T>(work: () => T): T {
    const result = this.writeLazily(work)
    this.syncs.wrote()
    return result
  }

  /** The same, for data that a power cut may lose: it needs no flush. */
  writeLazily<T>(work: () => T): T {
    if (this.failure) throw this.failure.error
    this.lookAtLog()
    return this.handle.immediate(work)
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

  /** The same, for what other processes wrote too. */
  async flushAll(): Promise<void> {
    this.syncs.wrote()
    await this.flush()
  }

  /** Returns unused pages to the file system, some at a time. */
  async shrink(): Promise<void> {
    for (let left = Infinity; ;) {
      if (this.closing) return
      const now = this.handle.pragma('freelist_count') as number
      if (now === 0 || now >= left) return
      left = now
      this.write(() => this.handle.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`))
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

  /** Closes it, now or when its last user is done. */
  async close(): Promise<void> {
    this.closing = true
    await this.end()
  }

  private async end(): Promise<void> {
    await this.syncs.idle()
    if (this.users.size > 0 || !this.handle.isOpen) return
    this.handle.close()
    fs.closeSync(this.log)
  }
}

/** Enough to finish soon, few enough not to block others. */
const VACUUM_PAGES = 500

/** Makes the file, for its owner only, where it is not there. Returns the folders that got new entries. */
function makeFile(file: string): readonly string[] {
  const folder = dirname(file)
  const top = fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  try {
    // Only a new file may be opened beside SQLite: closing it would drop the locks of another connection in this
    // process.
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
      const mode = handle.pragma('journal_mode = WAL')
      if (mode !== 'wal') throw new StoreError(`${file} cannot keep a write-ahead log (its journal mode stays ${String(mode)}); put it on a local disk`)
      handle.pragma('synchronous = NORMAL')
      handle.pragma('checkpoint_fullfsync = ON')
      return makeTables(handle, file)
    } catch (error) {
      // Where two processes start at once, SQLite does not always wait by itself.
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
