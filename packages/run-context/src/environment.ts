import { release, type } from 'node:os'
import { RunContextError } from './error.ts'
import { isPlain, readPairs } from './input.ts'
import { kindOf } from './kind.ts'
import { row } from './text.ts'

/** What `envBlock` tells besides the machine and the day; `undefined` and `null` are left out. */
export interface EnvExtras {
  readonly [key: string]: string | null | undefined
}

/**
 * Rows `- key: value`: platform, os and local date (`YYYY-MM-DD`), then the extras in the order of their keys (code units).
 *
 * @throws RunContextError for an extra that is not text
 */
export function envBlock(extra: EnvExtras = {}): string {
  const place = { argument: 'extra' }
  if (!isPlain(extra)) throw new RunContextError('CONTEXT_OPTIONS_INVALID', place, `must be a plain object of texts, not ${kindOf(extra)}`)
  const extras = Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1))
  const rows = [['platform', process.platform], ['os', `${type()} ${release()}`], ['date', localDate(new Date())], ...readPairs('extra', extras)] as const
  return rows.map(([key, value]) => row(key, value)).join('\n')
}

function localDate(now: Date): string {
  return [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, '0')).join('-')
}
