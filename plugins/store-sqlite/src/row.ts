import { crc32 } from 'node:zlib'
import { LogError, type SessionEvent, checkEvent } from '@headrace/session'

/** An event as it is stored; `json` as the bytes of its text. */
export interface Row {
  readonly seq: number
  readonly json: Uint8Array
  readonly sum: number
}

/** The CRC-32 of `<id>/<seq>/<json>`: also a row that stands elsewhere than it was written has another. */
export function sumOf(id: string, seq: number, json: string | Uint8Array): number {
  return crc32(json, crc32(`${id}/${seq}/`))
}

/** @throws LogError, SyntaxError where the row is not what was written */
export function decodeRow(id: string, { seq, json, sum }: Row, next: number): SessionEvent {
  if (seq !== next) throw new LogError(`seq ${seq} stands where ${next} comes next: events are missing`, undefined, 'LOG_SEQ')
  if (!(json instanceof Uint8Array) || sumOf(id, seq, json) !== sum) throw new LogError('its checksum does not match: at least one byte was changed', undefined, 'LOG_SUM')
  const event = checkEvent(JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8')))
  if (event.seq !== seq) throw new LogError(`it says that it is event ${event.seq}`, undefined, 'LOG_SEQ')
  return event
}
