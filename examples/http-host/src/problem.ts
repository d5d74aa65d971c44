/** Why a request is refused, in words that are safe to send: no path, no key, nothing of another user. */
export class Problem extends Error {
  readonly status: 400 | 401 | 404 | 413 | 415 | 429 | 503
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
      ...(this.retryAfter !== undefined && { 'retry-after': String(this.retryAfter) }),
      ...(this.status === 401 && { 'www-authenticate': 'Bearer' }),
    }
    return Response.json({ error: { code: this.code, message: this.message } }, { status: this.status, headers })
  }
}

/** The same for a missing session and another user's, so that they cannot be told apart. */
export const noSession = (): Problem => new Problem(404, 'SESSION_NOT_FOUND', 'you have no such session')

/** An agent's error as the client sees it; undefined for an internal one. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error
  switch ((error as { code?: unknown } | null)?.code) {
    case 'SESSION_NOT_FOUND': return noSession()
    case 'SESSION_BUSY': return new Problem(503, 'SESSION_BUSY', 'another process has the session at the moment; ask again', 2)
    case 'STORE_FAILED': return new Problem(503, 'STORE_FAILED', 'the session cannot be written at the moment; ask again', 5)
    case 'SESSION_CLOSED': return new Problem(503, 'SESSION_CLOSED', 'the session was given back; ask again', 1)
    case 'PROMPT_EMPTY': return new Problem(400, 'PROMPT_EMPTY', 'the prompt is empty')
    case 'QUEUE_FULL': return new Problem(429, 'QUEUE_FULL', 'too many prompts wait in this session', 10)
    default: return undefined
  }
}
