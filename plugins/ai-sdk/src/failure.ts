import {
  AISDKError, APICallError, EmptyResponseBodyError, InvalidResponseDataError, JSONParseError, LoadAPIKeyError, TypeValidationError,
} from '@ai-sdk/provider'
import { ModelError } from '@headrace/agent'
import { type Failure, defined, messageOf } from '@headrace/message'
import { StreamFailure } from './chunks.ts'
import { saysOverflow } from './overflow.ts'
import type { Redact } from './redact.ts'
import { type Report, reportOf, reportOfBody } from './report.ts'
import { retryAfter } from './retry-after.ts'
import { NotAStream } from './wire.ts'

/** Characters of a message, and of a code. */
const MAX_MESSAGE = 400
const MAX_CODE = 80

/**
 * Any error of a call as a {@link ModelError}. It has no `cause`: that would hold the response and the headers, and with them
 * what must not be seen.
 */
export function toModelError(error: unknown, provider: string, redact: Redact): ModelError {
  const { message, code, ...failure } = error instanceof ModelError ? error.failure : failureOf(error, provider)
  return new ModelError(defined({
    ...failure,
    message: brief(redact(message), MAX_MESSAGE),
    code: code === undefined ? undefined : brief(redact(code), MAX_CODE),
  }))
}

function failureOf(error: unknown, provider: string): Failure {
  if (error instanceof StreamFailure) return ofPart(error.reason, provider)
  if (error instanceof NotAStream) return ofPage(error, provider)
  const status = APICallError.isInstance(error) ? error.statusCode : undefined
  if (APICallError.isInstance(error) && status !== undefined && status >= 400) return ofResponse(error, status, provider)
  const broken = brokenOf(error)
  if (broken) return ofSocket(broken, provider)
  if (isMalformed(error)) return { kind: 'network', message: `${provider} sent what is no part of an answer: ${messageOf(error)}` }
  if (LoadAPIKeyError.isInstance(error)) return { kind: 'auth', message: messageOf(error) }
  // The package refused before anything was sent: a part or an option it does not know.
  const local = AISDKError.isInstance(error) && !APICallError.isInstance(error)
  if (local) return { kind: 'invalid', message: `${provider} cannot be asked this: ${messageOf(error)}` }
  return { kind: APICallError.isInstance(error) || isAbort(error) ? 'network' : 'unknown', message: `${provider} failed: ${messageOf(error)}` }
}

function ofResponse(error: APICallError, status: number, provider: string): Failure {
  const report = reportOfBody(error.responseBody ?? '')
  return defined({
    kind: kindOf(status, report),
    message: told(provider, status, { ...report, message: report.message ?? error.message }) + whereAsked(status, error.url),
    status,
    code: report.code,
    retryAfter: retryAfter(error.responseHeaders ?? {}),
  })
}

/** Where nothing answers to the path the base URL is the first suspect. Without a query or a name and password: they may be a key. */
function whereAsked(status: number, url: string): string {
  if ((status !== 404 && status !== 405) || !URL.canParse(url)) return ''
  const { origin, pathname } = new URL(url)
  return /\/v\d/.test(pathname) ? '' : `; asked was ${origin}${pathname}, and the base URL of most servers ends in /v1`
}

/** An error in mid-stream: an object of the provider's, an `Error`, a text. */
function ofPart(reason: unknown, provider: string): Failure {
  // What the package took for a malformed chunk may be a report in a shape it does not know.
  const value = TypeValidationError.isInstance(reason) && hasError(reason.value) ? reason.value : reason
  if (value instanceof Error) return failureOf(value, provider)
  const report = reportOf(value)
  const { status, code } = report
  return defined({ kind: status === undefined ? kindOfWords(report) : kindOf(status, report), message: told(provider, status, report), status, code })
}

function ofPage(error: NotAStream, provider: string): Failure {
  const report = reportOfBody(error.body)
  const said = report.message === undefined ? '' : `: ${report.message}`
  const reported = report.code !== undefined || report.status !== undefined
  const kind = reported ? report.status === undefined ? kindOfWords(report) : kindOf(report.status, report) : 'invalid'
  return defined({ kind, message: `${provider} ${error.message}${said}`, status: report.status ?? error.status, code: report.code })
}

function ofSocket({ code, message }: { readonly code: string; readonly message: string }, provider: string): Failure {
  const kind = /TIMEDOUT|TIMEOUT/.test(code) ? 'timeout' : 'network'
  return { kind, message: `the connection to ${provider} failed: ${message}`, code }
}

function kindOf(status: number, { text }: Report): Failure['kind'] {
  if (status === 401 || status === 402 || status === 403) return 'auth'
  if (status === 429) return 'rate-limit'
  if (status === 413 || saysOverflow(text)) return 'overflow'
  if (status === 408) return 'timeout'
  return status >= 500 ? 'server' : 'invalid'
}

/** Without a status: by the words. The provider had taken the request, so it is its fault unless it says otherwise. */
function kindOfWords({ text, code = '' }: Report): Failure['kind'] {
  if (saysOverflow(text)) return 'overflow'
  if (/rate.?limit|too.many.requests|quota|resource.exhausted/i.test(text)) return 'rate-limit'
  if (/authentication|unauthorized|permission|invalid.api.key|billing/i.test(code)) return 'auth'
  if (/invalid.request|invalid.argument|not.found/i.test(code)) return 'invalid'
  return /timeout|timed.out|deadline/i.test(text) ? 'timeout' : 'server'
}

function told(provider: string, status: number | undefined, { message, code }: Report): string {
  const what = [status, code === undefined || code === String(status) ? undefined : `(${code})`].filter((part) => part !== undefined).join(' ')
  return `${provider} ${what === '' ? 'reported an error' : `answered ${what}`}${message === undefined || message === '' ? '' : `: ${message}`}`
}

/** Codes of the system, of Node's `fetch`, of TLS. */
const SOCKET = /^(E[A-Z]+|UND_ERR_\w+|ERR_(TLS|SSL)\w*|\w*CERT\w*|\w*SIGNATURE\w*)$/

/** The error of a socket, wherever in the chain of causes it is. */
function brokenOf(error: unknown): { code: string; message: string } | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 8; current = current.cause, depth++) {
    const { code } = current as NodeJS.ErrnoException
    if (typeof code === 'string' && SOCKET.test(code)) return { code, message: messageOf(current) }
  }
  return undefined
}

function isMalformed(error: unknown): boolean {
  return [JSONParseError, TypeValidationError, InvalidResponseDataError, EmptyResponseBodyError].some((type) => type.isInstance(error))
}

function hasError(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'error' in value
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')
}

function brief(text: string, limit: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return (line.length <= limit ? line : `${line.slice(0, limit - 1)}…`).toWellFormed()
}
