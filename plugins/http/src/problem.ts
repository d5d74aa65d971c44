/** Why a request is refused, in words that are safe to send: no path, no key, nothing of another user. */
export class Problem extends Error {
  readonly status: 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 429 | 500 | 503
  readonly code: string
  /** Seconds after which to retry. */
  readonly retryAfter: number | undefined

  constructor(status: Problem['status'], code: string, message: string, retryAfter?: number) {
    super(message)
    this.status = status
    this.code = code
    this.retryAfter = retryAfter
  }

  get response(): Response {
    const headers = {
      'cache-control': 'no-store',
      ...(this.retryAfter !== undefined && { 'retry-after': String(this.retryAfter) }),
      ...(this.status === 401 && { 'www-authenticate': 'Bearer' }),
    }
    return Response.json({ error: { code: this.code, message: this.message } }, { status: this.status, headers })
  }
}

/** The same for a missing session and another user's, so that they cannot be told apart. */
export const noSession = (): Problem => new Problem(404, 'SESSION_NOT_FOUND', 'you have no such session')
export const invalid = (message: string): Problem => new Problem(400, 'BODY_INVALID', message)

const KNOWN: Readonly<Record<string, readonly [status: Problem['status'], message: string, retryAfter?: number]>> = {
  SESSION_NOT_FOUND: [404, 'you have no such session'],
  SESSION_ID_INVALID: [404, 'you have no such session'],
  SESSION_EXISTS: [409, 'there is a session of that id'],
  SESSION_BUSY: [503, 'another process has the session at the moment; ask again', 2],
  SESSION_CLOSED: [503, 'the session was given back; ask again', 1],
  STORE_FAILED: [503, 'the session cannot be written at the moment; ask again', 5],
  PLUGIN_GONE: [503, 'this server goes down; ask again', 2],
  PROMPT_EMPTY: [400, 'the prompt is empty'],
  QUEUE_FULL: [429, 'too many prompts wait in this session', 10],
  KEY_TAKEN: [409, 'the key is that of another prompt; use a new key for new content'],
  QUESTION_CLOSED: [409, 'the question is closed: it was answered, or its call has ended'],
  ANSWER_INVALID: [400, 'that is no answer to this question'],
  LETTER_INVALID: [400, 'that cannot be sent to a session'],
  MESSAGE_INVALID: [400, 'the prompt must be text, images and files'],
  CURSOR_INVALID: [400, 'after and Last-Event-ID take a cursor: the id of an event of this stream'],
  CONFIG_INVALID: [400, 'the config is not valid'],
  REWIND_INVALID: [409, 'the session cannot go back there'],
}

/** An error as the client sees it; undefined for an internal one. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error
  const { code } = (error ?? {}) as { readonly code?: unknown }
  if (typeof code !== 'string' || !Object.hasOwn(KNOWN, code)) return undefined
  const [status, message, retryAfter] = KNOWN[code]!
  return new Problem(status, code === 'SESSION_ID_INVALID' ? 'SESSION_NOT_FOUND' : code, message, retryAfter)
}
