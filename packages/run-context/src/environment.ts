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
 * @param now the time whose date is told, in milliseconds since the epoch; a plugin gives `agent.now`, so that a rerun
 * of the log has the same
 * @throws RunContextError for an extra that is not text, and a `now` that is no time
 */
export function envBlock(extra: EnvExtras = {}, now: number = Date.now()): string {
  const place = { argument: 'extra' }
  if (!isPlain(extra)) throw new RunContextError('CONTEXT_OPTIONS_INVALID', place, `must be a plain object of texts, not ${kindOf(extra)}`)
  const extras = Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1))
  const rows = [['platform', process.platform], ['os', `${type()} ${release()}`], ['date', localDate(dateOf(now))], ...readPairs('extra', extras)] as const
  return rows.map(([key, value]) => row(key, value)).join('\n')
}

function dateOf(now: number): Date {
  const date = new Date(typeof now === 'number' ? now : NaN)
  if (Number.isNaN(date.getTime())) {
    throw new RunContextError('CONTEXT_VALUE_INVALID', { argument: 'now' }, `must be a time in milliseconds since the epoch, not ${kindOf(now)}`)
  }
  return date
}

function localDate(now: Date): string {
  return [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, '0')).join('-')
}
