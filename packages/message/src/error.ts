/** An error with a stable `code` to branch on; the message, which is well-formed, names the thing, the place and the way out. */
export class HeadraceError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message.toWellFormed(), options)
    this.name = new.target.name
    this.code = code
  }
}

/** `instanceof`, for whatever was thrown or returned: a proxy may throw when it is asked. */
export function isA<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof type
  } catch {
    return false
  }
}

/** The message of whatever was thrown, on one line and well-formed: an error may be anything, and may throw when it is read. */
export function messageOf(error: unknown): string {
  try {
    const text = error instanceof Error ? error.message || error.name : String(error)
    return String(text).toWellFormed().replace(/\s*[\r\n]+\s*/g, ' ').slice(0, 4_000)
  } catch {
    return 'an error that cannot be shown'
  }
}
