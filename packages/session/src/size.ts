import { LogError } from './error.ts'
import type { Batch } from './store.ts'

/** Makes the JSON that a store writes, once. @throws LogError for an event of more UTF-16 units than `most` */
export function checkSizes({ events, json }: Batch, most: number): void {
  const large = json.findIndex((text) => text.length > most)
  if (large < 0) return
  const { seq, type } = events[large]!
  throw new LogError(`a ${type} of ${json[large]!.length} characters is larger than ${most}; give less, or raise limits.event`, seq, 'EVENT_TOO_LARGE')
}
