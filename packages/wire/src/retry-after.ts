/** How many milliseconds a response asks to wait: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date. */
export function retryAfter(headers: Readonly<Record<string, string>>, now: number = Date.now()): number | undefined {
  const exact = amount(headers['retry-after-ms'])
  if (exact !== undefined) return Math.ceil(exact)
  const header = headers['retry-after']
  const seconds = amount(header)
  if (seconds !== undefined) return Math.ceil(seconds * 1000)
  // `Date.parse` would read `-1` as a year.
  const date = header !== undefined && /[a-z]{3}/i.test(header) ? Date.parse(header) : NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function amount(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined
}
