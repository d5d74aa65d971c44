/** A commit, or another ref. */
export type Ref = { readonly commit: string } | { readonly target: string }
/** The refs of a table; those that it deletes from older tables are `undefined`. */
export type RefTable = ReadonlyMap<string, Ref | undefined>

/**
 * The refs in one table of a repository with `extensions.refStorage = reftable`; none where the file is not a reftable.
 *
 * Format: https://git-scm.com/docs/reftable
 */
export function parseReftable(bytes: Buffer): RefTable {
  const refs = new Map<string, Ref | undefined>()
  try {
    if (bytes.toString('latin1', 0, 4) === 'REFT') readBlocks(bytes, refs)
  } catch (error) {
    // Cut off or damaged: what was read before that is kept.
    if (!(error instanceof RangeError)) throw error
  }
  return refs
}

function readBlocks(bytes: Buffer, refs: Map<string, Ref | undefined>): void {
  const isSecond = bytes.readUInt8(4) === 2
  const blockSize = bytes.readUIntBE(5, 3)
  const idLength = isSecond && bytes.toString('latin1', 24, 28) === 's256' ? 32 : 20
  // The header is a part of the first block.
  for (let block = 0, start = isSecond ? 28 : 24; bytes[start] === 0x72; start = block) {
    const end = block + bytes.readUIntBE(start + 1, 3)
    const restarts = bytes.readUInt16BE(end - 2)
    readRecords(new Reader(bytes, start + 4), end - 2 - 3 * restarts, idLength, refs)
    block = blockSize === 0 ? end : block + blockSize
  }
}

function readRecords(reader: Reader, end: number, idLength: number, refs: Map<string, Ref | undefined>): void {
  let name: Buffer = Buffer.alloc(0)
  while (reader.at < end) {
    const prefix = reader.varint()
    const suffix = reader.varint()
    name = Buffer.concat([name.subarray(0, prefix), reader.take(Math.floor(suffix / 8))])
    reader.varint() // The update that made it.
    refs.set(name.toString('utf8'), readValue(reader, suffix % 8, idLength))
  }
}

function readValue(reader: Reader, type: number, idLength: number): Ref | undefined {
  if (type === 0) return undefined
  if (type === 3) return { target: reader.take(reader.varint()).toString('utf8') }
  const commit = reader.take(idLength).toString('hex')
  // A tag, and the commit that it names.
  if (type === 2) reader.take(idLength)
  return { commit }
}

class Reader {
  at: number
  private readonly bytes: Buffer

  constructor(bytes: Buffer, at: number) {
    this.bytes = bytes
    this.at = at
  }

  take(length: number): Buffer {
    if (this.at + length > this.bytes.length) throw new RangeError('the table ends too early')
    const part = this.bytes.subarray(this.at, this.at + length)
    this.at += length
    return part
  }

  /** Seven bits a byte, the highest first; each further byte counts from one more, as in pack files. */
  varint(): number {
    let byte = this.bytes.readUInt8(this.at++)
    let value = byte & 0x7f
    while (byte & 0x80) {
      byte = this.bytes.readUInt8(this.at++)
      value = (value + 1) * 128 + (byte & 0x7f)
    }
    return value
  }
}
