/** Facts in the order they are told; `undefined` is left out. */
export type Facts = readonly (readonly [name: string, value: string | undefined])[]

/** One fact per line, line breaks in it replaced. */
export function renderFacts(facts: Facts): string | undefined {
  const lines = facts.flatMap(([name, value]) => (value === undefined || value.trim() === '' ? [] : [`- ${oneLine(name)}: ${oneLine(value)}`]))
  return lines.length === 0 ? undefined : lines.join('\n')
}

/** One word after another, as nearly every fact is. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/

function oneLine(text: string): string {
  if (PLAIN.test(text)) return text
  return text.toWellFormed().replace(/[\s\u0085\u2028\u2029]+/g, ' ').trim()
}

/** The day as `2026-11-30`: the same in every locale, and never a time of day. */
export function dayOf(now: Date, timeZone: string | undefined): string {
  // Without a formatter, which would keep the machine's zone of its creation; it may change while the process runs.
  if (timeZone === undefined) return [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join('-')
  const parts = formatterOf(timeZone).formatToParts(now)
  const part = (type: string): string => parts.find((one) => one.type === type)!.value
  return `${part('year')}-${part('month')}-${part('day')}`
}

function two(number: number): string {
  return `${number}`.padStart(2, '0')
}

/** Cached: making a formatter costs as much as a step. */
const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone)
  if (known) return known
  const formatter = new Intl.DateTimeFormat('en-US', { calendar: 'gregory', numberingSystem: 'latn', timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
  formatters.set(timeZone, formatter)
  return formatter
}
