/** A provider's report of an error, read from any known shape. */
export interface Report {
  readonly message?: string
  /** Its code, or else its type. */
  readonly code?: string
  /** HTTP status, where the report itself has one: errors in mid-stream. */
  readonly status?: number
  /** Milliseconds to wait, where the report itself says so. */
  readonly retryAfter?: number
  /** All text in which messages are looked for. */
  readonly text: string
}

/** Reads a body: JSON, a text or an HTML page. */
export function reportOfBody(body: string): Report {
  try {
    return reportOf(JSON.parse(body))
  } catch {
    const text = /<(html|body|head|!doctype)\b/i.test(body) ? body.replace(/<(style|script)[^]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' ') : body
    return text.trim() === '' ? { text: '' } : { message: text, text }
  }
}

/** Reads `{ error: { message, code, type } }`, `{ error: "…" }`, `{ message }`, `{ detail }`, or a list of such. */
export function reportOf(value: unknown): Report {
  if (typeof value === 'string') return { message: value, text: value }
  if (Array.isArray(value)) return reportOf(value[0] ?? '')
  if (typeof value !== 'object' || value === null) return { text: '' }
  const fields = value as Readonly<Record<string, unknown>>
  const inner = fields.error ?? fields.errors
  if (inner !== undefined && inner !== null && typeof inner !== 'boolean') return reportOf(inner)
  const message = firstText(fields.message, fields.msg, fields.detail, firstOf(fields.detail)?.msg, fields.error_description)
  // Routers pass on the error of the provider behind them.
  const raw = firstText((fields.metadata as { raw?: unknown } | null | undefined)?.raw)
  const said = message !== undefined && raw !== undefined && raw !== message ? `${message}: ${raw}` : message ?? raw
  const code = firstText(fields.code, fields.type, fields.status)
  const status = [fields.code, fields.status, fields.status_code].map(Number).find((number) => number >= 400 && number <= 599)
  const wait = delayIn(fields.details, said)
  return {
    ...wait === undefined ? {} : { retryAfter: wait },
    ...said === undefined ? {} : { message: said },
    ...code === undefined ? {} : { code },
    ...status === undefined ? {} : { status },
    text: [said, fields.code, fields.type, typeof fields.n_ctx === 'number' ? `n_ctx: ${fields.n_ctx}` : undefined].filter((item) => typeof item === 'string').join(' '),
  }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Google's `RetryInfo { retryDelay: "34.07s" }`; others' "Please try again in 1m2.5s". */
function delayIn(details: unknown, said: string | undefined): number | undefined {
  const info = (Array.isArray(details) ? details : []).map((item) => (item as { retryDelay?: unknown } | null)?.retryDelay).find((delay): delay is string => typeof delay === 'string')
  const text = info ?? /(?:try again|retry) in ((?:\d+(?:\.\d+)?(?:ms|[smh]) ?)+)/i.exec(said ?? '')?.[1]
  const amounts = [...(text ?? '').matchAll(/(\d+(?:\.\d+)?)(ms|[smh])/g)]
  return amounts.length === 0 ? undefined : Math.ceil(amounts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit!]!, 0))
}

function firstText(...values: readonly unknown[]): string | undefined {
  return values.find((value) => typeof value === 'string' && value.trim() !== '') as string | undefined
}

function firstOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return Array.isArray(value) ? value[0] as Record<string, unknown> | undefined : undefined
}
