import { setTimeout } from 'node:timers/promises'
import { codeOf, isAbsent, isPassing, reasonOf } from './file-error.ts'
import { type FileKind, type FileStatus, type FileSystem, type Stamp, isSameStamp } from './file-system.ts'

/** Why a file was not read. */
export type FileProblem = { readonly path: string } & (
  | { readonly code: 'LINK_DANGLING' | 'LINK_LOOP' | 'OUTSIDE' }
  | { readonly code: 'NOT_A_FILE'; readonly kind: FileKind }
  | { readonly code: 'TOO_LARGE'; readonly size: number }
  | { readonly code: 'UNREADABLE'; readonly reason: string }
)

/** A file that was read. */
export interface FileContent {
  readonly path: string
  /** Absolute, without links. */
  readonly real: string
  readonly bytes: Uint8Array
  /** Whether `bytes` are all of the file. */
  readonly isWhole: boolean
}

/** How {@link StampedFiles} reads files, and what it makes of them. */
export interface StampedFilesOptions<Value> {
  readonly files: FileSystem
  /** Bytes; a larger file is a problem. */
  readonly maxSize: number
  /** Bytes that are read from the beginning of a file. Default: all. */
  readonly head?: number
  /** Whether a file may be read, by its path without links. Default: every file. */
  readonly admits?: (real: string) => boolean
  /** Makes a value of a file. */
  readonly make: (content: FileContent) => Value | Promise<Value>
  /** Makes the value for a file that cannot be read. */
  readonly problem: (problem: FileProblem) => Value
}

interface Known<Value> {
  readonly value: Value
  /** Of what the name leads to, or the code of the error there; `undefined`: read it again. */
  readonly stamp: Stamp | string | undefined
  readonly isLink: boolean
  readonly isProblem: boolean
}

/** For so many milliseconds (a tick of the kernel's clock) a file may change again under the same time. */
const TICK = 10

/**
 * What was made of files, each kept until its file changes: a look at one that did not change is one call of the file system.
 */
export class StampedFiles<Value> {
  private readonly options: StampedFilesOptions<Value>
  private readonly known = new Map<string, Known<Value>>()

  constructor(options: StampedFilesOptions<Value>) {
    this.options = options
  }

  /**
   * The current value of a file; `undefined` where there is none. Synchronous where the file did not change. Never throws and
   * never rejects, unless `make` or `problem` does.
   */
  look(path: string): Value | undefined | Promise<Value | undefined> {
    const known = this.known.get(path)
    try {
      // Once what a link leads to has changed, the name may lead elsewhere, or be no link any more.
      if (known?.isLink && isSame(this.target(path), known.stamp)) return known.value
      const status = this.options.files.lstat(path)
      if (known && !known.isLink && status && isSame(status.stamp, known.stamp)) return known.value
      if (!status) return void this.known.delete(path)
      return this.read(path, status).catch((error: unknown) => this.failed(path, known, error))
    } catch (error) {
      return this.failed(path, known, error)
    }
  }

  /** Stamp of what a link leads to, or the code of the error that says why it leads nowhere. */
  private target(path: string): Stamp | string | undefined {
    try {
      return this.options.files.stat(path)?.stamp ?? 'ENOENT'
    } catch (error) {
      return codeOf(error)
    }
  }

  private async read(path: string, status: FileStatus): Promise<Value> {
    const { files, maxSize, admits, head = maxSize + 1 } = this.options
    const isLink = status.kind === 'link'
    if (isLink && this.target(path) === 'ELOOP') return this.refuse({ code: 'LINK_LOOP', path }, 'ELOOP', isLink)
    const target = isLink ? files.stat(path) : status
    if (!target) return this.refuse({ code: 'LINK_DANGLING', path }, 'ENOENT', isLink)
    const refuse = (problem: FileProblem, stamp: Stamp | undefined = target.stamp): Value => this.refuse(problem, stamp, isLink)
    const real = await files.realpath(path)
    if (admits?.(real) === false) return refuse({ code: 'OUTSIDE', path })
    if (target.kind !== 'file') return refuse({ code: 'NOT_A_FILE', path, kind: target.kind })
    if (target.size > maxSize) return refuse({ code: 'TOO_LARGE', path, size: target.size })
    await tickPassed(target)
    const reading = await files.read(real, Math.min(head, maxSize + 1)).catch((error: unknown) => {
      if (isAbsent(error) || isPassing(error)) throw error
      return reasonOf(error)
    })
    // Its rights are part of its stamp: it is not tried again before they change.
    if (typeof reading === 'string') return refuse({ code: 'UNREADABLE', path, reason: reading })
    const { bytes, before, after } = reading
    if (before.kind !== 'file') return refuse({ code: 'NOT_A_FILE', path, kind: before.kind }, undefined)
    const isSettled = isSameStamp(before.stamp, after.stamp) && isSameStamp(after.stamp, target.stamp)
    const stamp = isSettled ? after.stamp : undefined
    if (bytes.length > maxSize) return refuse({ code: 'TOO_LARGE', path, size: bytes.length }, stamp)
    const value = await this.options.make({ path, real, bytes, isWhole: bytes.length < head })
    this.known.set(path, { value, stamp, isLink, isProblem: false })
    return value
  }

  private failed(path: string, known: Known<Value> | undefined, error: unknown): Value | undefined {
    const code = codeOf(error)
    const stands = known && ((code !== undefined && known.stamp === code) || (isPassing(error) && !known.isProblem))
    if (stands) return known.value
    if (!isAbsent(error)) return this.refuse({ code: 'UNREADABLE', path, reason: reasonOf(error) }, isPassing(error) ? undefined : code, false)
    this.known.delete(path)
    return undefined
  }

  private refuse(problem: FileProblem, stamp: Stamp | string | undefined, isLink: boolean): Value {
    const value = this.options.problem(problem)
    this.known.set(problem.path, { value, stamp, isLink, isProblem: true })
    return value
  }
}

function isSame(a: Stamp | string | undefined, b: Stamp | string | undefined): boolean {
  if (a === undefined || b === undefined) return false
  return typeof a === 'string' || typeof b === 'string' ? a === b : isSameStamp(a, b)
}

/** Resolves once the tick of the last change is over: what a file holds then is what its time stands for. */
async function tickPassed({ changed }: FileStatus): Promise<void> {
  const age = Date.now() - changed
  // The clock of another machine says nothing.
  if (Math.abs(age) <= TICK) await setTimeout(TICK + 1 - age)
}
