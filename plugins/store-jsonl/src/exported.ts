import { createReadStream } from 'node:fs'
import type { Digest } from '@headrace/message'
import { LogFile } from './file.ts'
import { nodeFiles } from './files.ts'
import { blobNamed, itemsOf, linesOf } from './items.ts'

/** Where a line is, in bytes; without its `\n`. */
interface Span {
  readonly offset: number
  readonly length: number
}

/** The blobs that stand in an export, as lines of their own. The file is read through once, when the first is asked for. */
export class ExportedBlobs {
  private readonly path: string
  private spans: Promise<ReadonlyMap<Digest, Span>> | undefined

  constructor(path: string) {
    this.path = path
  }

  /** The bytes that the export has for this blob, unchecked; `undefined` where it has none, or the line is cut off. */
  async get(digest: Digest): Promise<Uint8Array | undefined> {
    const span = (await (this.spans ??= this.find())).get(digest)
    if (!span) return undefined
    const file = LogFile.open(nodeFiles, this.path, this.path)
    try {
      const [item] = itemsOf(await file.bytes(span.offset, span.offset + span.length), undefined)
      return item && 'blob' in item ? item.bytes : undefined
    } finally {
      file.close()
    }
  }

  private async find(): Promise<ReadonlyMap<Digest, Span>> {
    const spans = new Map<Digest, Span>()
    let offset = 0
    for await (const { bytes, whole } of linesOf(createReadStream(this.path) as AsyncIterable<Uint8Array>)) {
      const digest = whole ? blobNamed(bytes) : undefined
      if (digest !== undefined && !spans.has(digest)) spans.set(digest, { offset, length: bytes.length })
      offset += bytes.length + 1
    }
    return spans
  }
}
