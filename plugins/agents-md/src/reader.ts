import { sep } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Digest, messageOf, sha256 } from '@headrace/message'
import { decode, isLinkText } from './decode.ts'
import type { Diagnostic, DiagnosticCode } from './diagnostic.ts'
import { type FileLayer, type FileStatus, codeOf } from './files.ts'
import { findImports } from './imports.ts'

/** A file that holds text. The same object as long as the file is the same. */
export interface InstructionText {
  readonly path: string
  /** Absolute, without links. */
  readonly real: string
  readonly text: string
  /** Of the text: blind for the byte order mark and the kind of line ends. */
  readonly digest: Digest
  readonly imports: readonly string[]
}

/** Text, what is wrong with the file, or `undefined`: there is no file. */
export type Found = InstructionText | Diagnostic | undefined

interface Known {
  readonly found: InstructionText | Diagnostic
  /** Of what the name leads to; of no file where it is to be read again. */
  readonly stamp: string
  /** Its name is a symbolic link. */
  readonly link: boolean
}

const ANEW = ''
const DANGLING = 'ENOENT'
const LOOP = 'ELOOP'
/** A file may change again under the same time as long as this: a kernel's tick, in milliseconds. It is read after that, to be read once. */
const TICK = 10
const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'])
/** The system has no time or room for us now: what was read stands. */
const BUSY: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'EBUSY', 'EINTR', 'EIO', 'ENOMEM', 'ESTALE', 'ETIMEDOUT'])

/** Reads instruction files inside some folders, each once as long as it does not change: to look at a file that did not is one call. */
export class FileReader {
  private readonly files: FileLayer
  /** Real paths. */
  private readonly roots: readonly string[]
  private readonly limit: number
  private readonly known = new Map<string, Known>()

  constructor(files: FileLayer, roots: readonly string[], limit: number) {
    this.files = files
    this.roots = roots
    this.limit = limit
  }

  /** At once where nothing changed, so that a look costs no promise. Never throws, never rejects. */
  look(path: string): Found | Promise<Found> {
    const { files } = this
    const known = this.known.get(path)
    try {
      // Where what a link leads to has changed, the name may lead elsewhere, or be no link any more.
      if (known?.link && known.stamp === this.target(path)) return known.found
      const status = files.lstat(path)
      if (known && !known.link && known.stamp === status?.stamp) return known.found
      if (!status) return void this.known.delete(path)
      return this.read(path, status).catch((error: unknown) => this.failed(path, known, error))
    } catch (error) {
      return this.failed(path, known, error)
    }
  }

  /** Stamp of what a link leads to, or why it leads nowhere. */
  private target(path: string): string {
    try {
      return this.files.stat(path)?.stamp ?? DANGLING
    } catch (error) {
      return codeOf(error)
    }
  }

  private async read(path: string, status: FileStatus): Promise<Found> {
    const { files } = this
    const link = status.kind === 'link'
    if (link && this.target(path) === LOOP) return this.keep(path, diagnostic('LINK_LOOP', path, 'is a symbolic link that leads in a circle, and is left out'), LOOP, link)
    const target = link ? files.stat(path) : status
    if (!target) return this.keep(path, diagnostic('LINK_DANGLING', path, 'is a symbolic link to nothing, and is left out'), DANGLING, link)
    const keep = (found: Known['found'], stamp = target.stamp): Found => this.keep(path, found, stamp, link)
    const real = await files.realpath(path)
    if (!this.roots.some((root) => isInside(root, real))) return keep(diagnostic('OUTSIDE', path, 'leads outside of the project, and is not read; name the folder it leads to in roots to allow it'))
    if (target.kind !== 'file') return keep(diagnostic('NOT_A_FILE', path, `is a ${target.kind}, not a file, and is left out`))
    if (target.size > this.limit) return keep(this.tooLarge(path))
    await passing(target)
    const reading = await files.read(real, this.limit + 1).catch((error: unknown) => {
      if (GONE.has(codeOf(error)) || BUSY.has(codeOf(error))) throw error
      return messageOf(error)
    })
    // Its rights are a part of its stamp.
    if (typeof reading === 'string') return keep(unreadable(path, reading))
    const { bytes, before, after } = reading
    const settled = before.stamp === after.stamp && after.stamp === target.stamp
    if (before.kind !== 'file') return keep(diagnostic('NOT_A_FILE', path, `is a ${before.kind}, not a file, and is left out`), ANEW)
    return keep(bytes.length > this.limit ? this.tooLarge(path) : textOf(path, real, bytes), settled ? after.stamp : ANEW)
  }

  private tooLarge(path: string): Diagnostic {
    return diagnostic('TOO_LARGE', path, `is larger than ${this.limit} bytes, and is left out; shorten it, or raise maxFile`)
  }

  private failed(path: string, known: Known | undefined, error: unknown): Found {
    const code = codeOf(error)
    if (known && (known.stamp === code || (BUSY.has(code) && 'text' in known.found))) return known.found
    if (!GONE.has(code)) return this.keep(path, unreadable(path, messageOf(error)), BUSY.has(code) ? ANEW : code, false)
    this.known.delete(path)
    return undefined
  }

  private keep(path: string, found: Known['found'], stamp: string, link: boolean): Found {
    this.known.set(path, { found, stamp, link })
    return found
  }
}

/** True for the root itself and for what is below it. */
export function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

function textOf(path: string, real: string, bytes: Uint8Array): InstructionText | Diagnostic {
  const decoded = decode(bytes)
  if ('problem' in decoded) return diagnostic('NOT_TEXT', path, `${decoded.problem}; it is left out`)
  const { text } = decoded
  if (text.trim() === '') return diagnostic('BLANK', path, 'is empty, and is left out')
  if (isLinkText(text)) return diagnostic('LINK_AS_TEXT', path, 'holds nothing but a path: a symbolic link that was checked out as text; it is left out. Check it out as a link, or import it with @')
  return { path, real, text, digest: sha256(text), imports: findImports(text) }
}

/** Resolves when the time of the last change is past. */
async function passing({ changed }: FileStatus): Promise<void> {
  const age = Date.now() - changed
  // The clock of another machine says nothing.
  if (Math.abs(age) <= TICK) await setTimeout(TICK + 1 - age)
}

function unreadable(path: string, problem: string): Diagnostic {
  return diagnostic('UNREADABLE', path, `cannot be read, and is left out: ${problem}`)
}

function diagnostic(code: DiagnosticCode, path: string, problem: string): Diagnostic {
  return { code, path, problem }
}
