/** An error with a stable `code` to branch on; the message names the thing, the place and the way out. */
export class HeadraceError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
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
