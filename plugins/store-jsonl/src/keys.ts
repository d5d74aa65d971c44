import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { KEYS_KEPT, type KeptKey } from '@headrace/session'
import { type FileLayer, isCode, writeAll } from './files.ts'

/** The keys that are kept: those from this seq on. */
interface KeyList {
  readonly from: number
  readonly prompts: readonly KeptKey[]
}

/**
 * The keys of a session's prompts, in a file beside its log; undefined where there is none. Entries must be checked
 * against the log: an entry is written before its event.
 */
export function readKeys(path: string): KeyList | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
  const [head, ...prompts] = text.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as { readonly from?: number } & KeptKey]
    } catch {
      return [] // torn, or empty
    }
  })
  return { from: head?.from ?? Infinity, prompts }
}

/** Adds keys, for the one who holds the lease. */
export class KeyWriter {
  private readonly files: FileLayer
  private readonly path: string
  /** The seq from which a new list is complete. */
  private readonly from: number
  private fd: number | undefined
  private count = 0
  private isNew = false
  private isDirty = false

  constructor(files: FileLayer, path: string, from: number) {
    this.files = files
    this.path = path
    this.from = from
  }

  add(prompts: readonly KeptKey[]): void {
    if (prompts.length === 0) return
    if (this.fd === undefined || this.count > 2 * KEYS_KEPT) this.open()
    writeAll(this.files, this.fd!, bytesOf(prompts))
    this.count += prompts.length
    this.isDirty = true
  }

  async sync(): Promise<void> {
    if (!this.isDirty) return
    this.isDirty = false
    await this.files.sync(this.fd!)
    if (this.isNew) await this.files.syncDirectory(dirname(this.path))
    this.isNew = false
  }

  close(): void {
    if (this.fd !== undefined) this.files.close(this.fd)
    this.fd = undefined
  }

  /** Opens what is there; a long list is shortened to its newest. */
  private open(): void {
    this.close()
    const known = readKeys(this.path)
    const { length } = known?.prompts ?? []
    if (known && length <= 2 * KEYS_KEPT) {
      this.fd = this.files.open(this.path, 'a')
      this.count = length
      return
    }
    const kept = known ? known.prompts.slice(-KEYS_KEPT) : []
    const draft = `${this.path}.${randomUUID()}`
    const fd = this.files.open(draft, 'ax')
    try {
      // Enough newer keys are kept.
      writeAll(this.files, fd, Buffer.concat([Buffer.from(JSON.stringify({ from: known ? 0 : this.from })), bytesOf(kept)]))
      this.files.rename(draft, this.path)
    } catch (error) {
      this.files.close(fd)
      this.files.remove(draft)
      throw error
    }
    this.fd = fd
    this.count = kept.length
    this.isNew = true
  }
}

/** Each on its own line, also after a torn one. */
function bytesOf(prompts: readonly KeptKey[]): Buffer {
  return Buffer.from(prompts.map((prompt) => `\n${JSON.stringify(prompt)}`).join(''))
}
