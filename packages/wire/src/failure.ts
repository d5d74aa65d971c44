import { ModelError } from '@headrace/agent'
import { type Failure, defined, messageOf } from '@headrace/message'
import { CannotAsk, Told } from './family.ts'
import { saysOverflow, windowIn } from './overflow.ts'
import { type Report, reportOf, reportOfBody } from './report.ts'
import { retryAfter } from './retry-after.ts'
import type { Secrets } from './secrets.ts'

/** Most characters of an error's message, and of its code. */
const MAX_MESSAGE = 400
const MAX_CODE = 80
/** A wait longer than this is mentioned in the message. */
const LONG_WAIT = 60_000

/** A response without an answer: an error status, or a success that is not a stream. */
export class BadResponse extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly url: string

  constructor({ status, headers, body, url }: Pick<BadResponse, 'status' | 'headers' | 'body' | 'url'>) {
    super(`answered ${status}`)
    this.status = status
    this.headers = headers
    this.body = body
    this.url = url
  }
}

/** The data received is no part of an answer. */
export class Malformed extends Error {}

/**
 * Any error of a call as a {@link ModelError}. It has no `cause`: that would hold the response and its headers, and
 * with them secrets.
 */
export function toModelError(error: unknown, provider: string, secrets: Secrets): ModelError {
  const { message, code, ...failure } = error instanceof ModelError ? error.failure : failureOf(error, provider)
  return new ModelError(defined({
    ...failure,
    message: brief(secrets.redact(message), MAX_MESSAGE),
    code: code === undefined ? undefined : brief(secrets.redact(code), MAX_CODE),
  }))
}

function failureOf(error: unknown, provider: string): Failure {
  if (error instanceof Told) return ofReport(reportOf(error.report), provider)
  if (error instanceof BadResponse) return error.status < 400 ? ofPage(error, provider) : ofResponse(error, provider)
  if (error instanceof CannotAsk) return { kind: 'invalid', message: `this cannot be asked: ${messageOf(error)}` }
  if (error instanceof Malformed) return { kind: 'network', message: `${provider} sent what is no part of an answer: ${messageOf(error)}` }
  const broken = brokenOf(error)
  if (broken) return ofSocket(broken, provider)
  return { kind: isAbort(error) ? 'network' : 'unknown', message: `${provider} failed: ${messageOf(error)}` }
}

function ofResponse({ status, headers, body, url }: BadResponse, provider: string): Failure {
  const report = reportOfBody(body)
  const wait = retryAfter(headers) ?? report.retryAfter
  return defined({
    kind: kindOf(status, report),
    message: told(provider, status, { ...report, message: report.message ?? wordOf(status) ?? '' }) + whereAsked(status, url) + waitWords(wait),
    status,
    code: report.code,
    retryAfter: wait,
    window: windowOf(status, report),
  })
}

function windowOf(status: number | undefined, report: Report): number | undefined {
  const isOverflow = status === undefined ? kindOfWords(report) === 'overflow' : kindOf(status, report) === 'overflow'
  return isOverflow ? windowIn(report.text) : undefined
}

/** Adds the wait to the message where it is long. */
function waitWords(wait: number | undefined): string {
  if (wait === undefined || wait <= LONG_WAIT) return ''
  const minutes = Math.ceil(wait / 60_000)
  return `; it asks to wait ${minutes < 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`}`
}

/**
 * On 404 and 405 the base URL is probably wrong, so the message names it, without query, name and password: they may
 * hold a key.
 */
function whereAsked(status: number, url: string): string {
  if ((status !== 404 && status !== 405) || !URL.canParse(url)) return ''
  const { origin, pathname } = new URL(url)
  return /\/v\d/.test(pathname) ? '' : `; asked was ${origin}${pathname}, and the base URL of most servers ends in /v1`
}

/** An error in mid-stream: an object, or a text. */
function ofReport(report: Report, provider: string): Failure {
  const { status, code, retryAfter: wait } = report
  const kind = status === undefined ? kindOfWords(report) : kindOf(status, report)
  return defined({
    kind,
    message: told(provider, status, report) + waitWords(wait),
    status,
    code,
    retryAfter: wait,
    window: windowOf(status, report),
  })
}

function ofPage({ status, headers, body }: BadResponse, provider: string): Failure {
  const report = reportOfBody(body)
  const said = report.message === undefined ? '' : `: ${report.message}`
  const reported = report.code !== undefined || report.status !== undefined
  const kind = reported ? report.status === undefined ? kindOfWords(report) : kindOf(report.status, report) : 'invalid'
  const type = headers['content-type'] ?? 'something'
  const message = `${provider} answered ${status} with ${type} where a stream of events was expected; check the base URL${whereTo(headers['location'])}${said}`
  return defined({ kind, message, status: report.status ?? status, code: report.code })
}

/**
 * Redirects are not followed: the key would be sent along. The target is named without its query, which may hold a key.
 */
function whereTo(location: string | undefined): string {
  if (location === undefined || !URL.canParse(location)) return ''
  const { origin, pathname } = new URL(location)
  return `, which leads to ${origin}${pathname}`
}

/** Errors that stay until somebody changes something, and what helps. */
const LASTING: readonly (readonly [RegExp, string])[] = [
  [/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|^EPROTO$/, 'the port speaks no TLS; is it http:// and not https://?'],
  [/CERT|SIGNATURE|ALTNAME/, 'its certificate is not trusted; NODE_EXTRA_CA_CERTS=<file> adds one that is'],
  [/^HPE_|HTTP_?PARSER/, 'what listens there speaks no HTTP, or wants https://'],
]

function ofSocket({ code, message }: { readonly code: string; readonly message: string }, provider: string): Failure {
  const lasting = LASTING.find(([pattern]) => pattern.test(code))
  const text = `the connection to ${provider} failed: ${message}`
  if (lasting) return { kind: 'invalid', message: `${text}; ${lasting[1]}`, code }
  return { kind: /TIMEDOUT|TIMEOUT/.test(code) ? 'timeout' : 'network', message: text, code }
}

/** The paid quota is used up: waiting does not help. */
const QUOTA = /insufficient.?(quota|balance|funds|credit)|exceeded your current quota(?!.*\bretry\b)|billing.?(hard.?limit|not.?active)|credit balance is too low|out of credits|payment required/i

function kindOf(status: number, { text, retryAfter: wait }: Report): Failure['kind'] {
  if (status === 401 || status === 402 || status === 403) return 'auth'
  if (status === 429) return QUOTA.test(text) && wait === undefined ? 'auth' : 'rate-limit'
  if (status === 413 || saysOverflow(text)) return 'overflow'
  if (QUOTA.test(text)) return 'auth'
  if (status === 408) return 'timeout'
  return status >= 500 ? 'server' : 'invalid'
}

/**
 * Classifies an error without a status by its words. The request was accepted, so the provider is at fault unless it
 * says otherwise.
 */
function kindOfWords({ text, code = '', retryAfter: wait }: Report): Failure['kind'] {
  if (saysOverflow(text)) return 'overflow'
  if (QUOTA.test(text) && wait === undefined) return 'auth'
  if (/rate.?limit|too.many.requests|quota|resource.exhausted/i.test(text)) return 'rate-limit'
  if (/authentication|unauthorized|permission|invalid.api.key|billing/i.test(code)) return 'auth'
  if (/invalid.request|invalid.argument|invalid.prompt|not.found|above.max.length/i.test(code)) return 'invalid'
  return /timeout|timed.out|deadline/i.test(text) ? 'timeout' : 'server'
}

function told(provider: string, status: number | undefined, { message, code }: Report): string {
  const what = [status, code === undefined || code === String(status) ? undefined : `(${code})`].filter((part) => part !== undefined).join(' ')
  return `${provider} ${what === '' ? 'reported an error' : `answered ${what}`}${message === undefined || message === '' ? '' : `: ${message}`}`
}

function wordOf(status: number): string | undefined {
  return ({ 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not Found', 429: 'Too Many Requests', 500: 'Internal Server Error', 502: 'Bad Gateway', 503: 'Service Unavailable' } as Record<number, string>)[status]
}

/** Codes of the system, of Node's HTTP and of TLS; newer OpenSSL has a slash in some (`ERR_SSL_SSL/TLS_ALERT_…`). */
const SOCKET = /^(E[A-Z]+|EAI_\w+|UND_ERR_\w+|HPE_\w+|ERR_(TLS|SSL)[\w/]*|\w*CERT\w*|\w*SIGNATURE\w*)$/

/** The socket's error, wherever it is in the chain of causes. */
function brokenOf(error: unknown): { code: string; message: string } | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 8; current = current.cause, depth++) {
    const { code = current.name === 'HTTPParserError' ? 'HPE_INVALID' : undefined } = current as NodeJS.ErrnoException
    const inner =
      current instanceof AggregateError
        ? (current.errors as unknown[]).find((each): each is Error => each instanceof Error)
        : undefined
    if (typeof code === 'string' && SOCKET.test(code)) return { code, message: messageOf(current.message === '' && inner ? inner : current) }
  }
  return undefined
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')
}

function brief(text: string, limit: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return (line.length <= limit ? line : `${line.slice(0, limit - 1)}…`).toWellFormed()
}
