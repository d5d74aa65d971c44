/** The values of statements: the same with both drivers. */
export interface Statement<P extends readonly unknown[] = [], R = unknown> {
  run(...parameters: P): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint }
  get(...parameters: P): R | undefined
  all(...parameters: P): R[]
  iterate(...parameters: P): IterableIterator<R>
}

/** An open database, with whatever driver this Node has. */
export interface Handle {
  readonly isOpen: boolean
  exec(sql: string): void
  prepare<P extends readonly unknown[] = [], R = unknown>(sql: string): Statement<P, R>
  /** The value of a pragma with a single value. */
  pragma(text: string): unknown
  /** Runs a function in a transaction, on one state of the database. */
  deferred<T>(work: () => T): T
  /** The same, to write: takes the write lock first. */
  immediate<T>(work: () => T): T
  close(): void
}

/** @param timeout milliseconds to wait while another process writes */
export type Driver = (file: string, timeout: number) => Handle
