import { crc32 } from 'node:zlib'
import type { SessionEvent } from './event.ts'

/**
 * The CRC-32 (as in zlib) of `<id>/<seq>/<text>`, as a number: what stands in another log, or at another place, has another sum. For
 * stores; the text is an event's JSON, or whatever they keep of an append that begins with that seq.
 */
export function seededSum(id: string, seq: number, text: string | Uint8Array): number {
  return crc32(text, seedAt(id, seq))
}

/** A sum as it is written: eight lower-case hex digits. */
export function sumText(sum: number): string {
  return HEX[sum >>> 24]! + HEX[(sum >>> 16) & 0xff]! + HEX[(sum >>> 8) & 0xff]! + HEX[sum & 0xff]!
}

// Each append begins with these: what can be known before is.
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1
  return sum
})
let newest = { id: '', sum: crc32('/') }

/** The sum of `<id>/<seq>/`. */
function seedAt(id: string, seq: number): number {
  if (newest.id !== id) newest = { id, sum: crc32(`${id}/`) }
  const text = `${seq}/`
  let sum = ~newest.sum
  for (let index = 0; index < text.length; index++) sum = TABLE[(sum ^ text.charCodeAt(index)) & 0xff]! ^ (sum >>> 8)
  return ~sum >>> 0
}

/** A place in a log, the same in every store: `seq.sum` of an event, `sum` the {@link seededSum} of its JSON in hex. */
export type Cursor = `${number}.${string}`

/** The cursor of an event. @param json its exact JSON, where it is at hand */
export function cursorOf(id: string, event: SessionEvent, json = JSON.stringify(event)): Cursor {
  return `${event.seq}.${sumText(seededSum(id, event.seq, json))}`
}

/** The seq and the sum of a cursor; undefined where the text is none. */
export function parseCursor(text: string): { readonly seq: number; readonly sum: number } | undefined {
  const [, seq, sum] = /^(0|[1-9]\d{0,15})\.([0-9a-f]{8})$/.exec(text) ?? []
  if (seq === undefined || !Number.isSafeInteger(Number(seq))) return undefined
  return { seq: Number(seq), sum: Number.parseInt(sum!, 16) }
}
