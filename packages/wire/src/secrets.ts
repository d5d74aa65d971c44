import { base64Forms, escapedForms, formsOfKey } from '@headrace/message'

const GONE = '[redacted]'
/** A part of a key of this length is redacted anywhere; shorter ones are too often ordinary words. */
const RUN = 8
/** Shorter secrets protect nothing, and redacting them would garble messages. */
const SHORTEST = 4
const MAX_SECRETS = 1_000

/** Known prefixes of providers' keys: not secret by themselves. */
const PREFIX = /^(sk-ant-(api|admin|oat)\d\d-|sk-(proj|svcacct|admin|or-v1|lf)-|github_pat_|bedrock-api-key-)/

/** Headers and query parameters whose values are keys. */
const HEADER = /^(proxy-)?authorization$|cookie|(^|-)(api-?key|goog-api-key|auth|key|token|secret)$/i
const PARAMETER = /^(key|api[-_]?key|code|sig|signature|token|access_token|subscription-key)$/i

/** Texts that look like a key, for models whose key is not known here. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+(?=\S*[\d_*=])[^\s"',;}]{8,}/gi, `$1 ${GONE}`],
  [/\b(sk|rk|pk|gsk|xai|hf|csk|pplx|r8|AIza)[-_]?[\w*.-]*[\d*][\w*.-]{5,}/g, GONE],
  [/\/\/[^/@\s"']+@/g, `//${GONE}@`],
  [/([?&](?:api[-_]?key|key|token|access_token|signature|sig)=)[^&\s"']+/gi, `$1${GONE}`],
]

/**
 * Redacts secrets. A key is redacted also escaped, in base64, in another case, and any part of eight characters of it;
 * other values, such as those of custom headers, only as a whole.
 */
export class Secrets {
  /** Lower-case parts of keys, in all their forms. */
  private readonly runs = new Set<string>()
  private readonly whole = new Set<string>()
  private readonly known = new Set<string>()
  private readonly told: (key: string) => void

  /** @param told called with each key, once */
  constructor(told: (key: string) => void = () => undefined) {
    this.told = told
  }

  /** A key. */
  add(key: string | undefined): this {
    const secret = key?.trim() ?? ''
    if (secret.length < SHORTEST || this.known.has(secret) || this.known.size >= MAX_SECRETS) return this
    this.known.add(secret)
    this.told(secret)
    this.value(secret)
    const open = PREFIX.exec(secret)?.[0].length ?? 0
    // A prefix alone is no secret: parts begin where it ends, except one that overlaps it.
    const own = secret.slice(Math.max(0, open - RUN + 1))
    for (const form of [own, ...escapedForms(own), ...base64Forms(secret)]) {
      const lower = form.toLowerCase()
      for (let at = 0; at + RUN <= lower.length; at++) this.runs.add(lower.slice(at, at + RUN))
    }
    return this
  }

  /** A value that may be a key: redacted only as a whole. */
  value(value: string | undefined): this {
    if (value === undefined || value.length < SHORTEST) return this
    for (const form of formsOfKey(value)) if (form.length >= SHORTEST) this.whole.add(form.toLowerCase())
    return this
  }

  /**
   * Adds the secrets of a request's headers. `Bearer` and the like are no part of a key; `Basic` holds a name and a
   * password.
   */
  request(url: string, headers: Iterable<readonly [string, string]>): this {
    for (const [name, value] of headers) {
      if (!HEADER.test(name)) continue
      const [, scheme, rest] = /^(\w+) +(.+)$/.exec(value) ?? []
      this.add(rest ?? value)
      if (/^basic$/i.test(scheme ?? '')) for (const part of Buffer.from(rest!, 'base64').toString().split(':')) this.add(part)
    }
    if (!URL.canParse(url)) return this
    const { searchParams, username, password } = new URL(url)
    for (const [name, value] of searchParams) if (PARAMETER.test(name)) this.add(value)
    for (const part of [username, password]) this.add(decoded(part))
    return this
  }

  /** A text with all secrets redacted, in all their forms. */
  redact(text: string): string {
    const lower = text.toLowerCase()
    // Case folding may change a text's length; offsets would not match then.
    const marked = lower.length === text.length ? this.cut(text, lower) : this.cut(lower, lower)
    return PATTERNS.reduce((rest, [pattern, replacement]) => rest.replace(pattern, (found: string, ...groups: unknown[]) => {
      // A known prefix alone, with its separator.
      if (PREFIX.exec(`${found}-`)?.[0].replace(/-$/, '') === found.replace(/-$/, '')) return found
      return replacement.replace('$1', typeof groups[0] === 'string' ? groups[0] : '')
    }), marked)
  }

  private cut(text: string, lower: string): string {
    const ranges: [start: number, end: number][] = []
    if (this.runs.size > 0)
      for (let at = 0; at + RUN <= lower.length; at++)
        if (this.runs.has(lower.slice(at, at + RUN))) ranges.push([at, at + RUN])
    for (const form of this.whole)
      for (let at = lower.indexOf(form); at >= 0; at = lower.indexOf(form, at + 1)) ranges.push([at, at + form.length])
    ranges.sort((a, b) => a[0] - b[0])
    let result = ''
    let end = 0
    for (const [start, stop] of ranges) {
      if (start > end || result === '') result += text.slice(end, start) + GONE
      end = Math.max(end, stop)
    }
    return result + text.slice(end)
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
