import { LogError, type SessionEvent, checkEvent, seededSum } from '@headrace/session'

/** An event as it is stored; `json` as the bytes of its text. */
export interface Row {
  readonly seq: number
  readonly json: Uint8Array
  readonly sum: number
}

/** @throws LogError, SyntaxError where the row is not what was written */
export function decodeRow(id: string, { seq, json, sum }: Row, next: number): SessionEvent {
  if (seq !== next) throw new LogError(`seq ${seq} stands where ${next} comes next: events are missing`, undefined, 'LOG_SEQ')
  if (!(json instanceof Uint8Array) || seededSum(id, seq, json) !== sum) throw new LogError('its checksum does not match: at least one byte was changed, or the row is of another log', undefined, 'LOG_SUM')
  const event = checkEvent(JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8')))
  if (event.seq !== seq) throw new LogError(`it says that it is event ${event.seq}`, undefined, 'LOG_SEQ')
  return event
}
