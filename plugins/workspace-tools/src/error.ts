import { codeOf, reasonOf } from '@headrace/files'
import { HeadraceError, type JsonObject, KEY_MARK } from '@headrace/message'

/** Codes of a `WorkspaceError`. */
export type WorkspaceErrorCode =
  | 'PATH_INVALID' | 'PATH_OUTSIDE' | 'PATH_UNRESOLVED' | 'NOT_FOUND' | 'NOT_A_FILE' | 'NOT_A_FOLDER' | 'NOT_TEXT' | 'READ_ONLY' | 'TOO_LARGE'
  | 'CHANGED' | 'NO_MATCH' | 'MANY_MATCHES' | 'PATTERN_INVALID' | 'COMMAND_INVALID' | 'CANCELLED' | 'CONFIG_INVALID' | 'FILE_SYSTEM' | 'REDACTED'

/** A tool refused or failed; the message is written for the model. */
export class WorkspaceError extends HeadraceError {
  /** The result's `details`, for programs. */
  readonly details: JsonObject | undefined

  constructor(code: WorkspaceErrorCode, message: string, options: ErrorOptions & { readonly details?: JsonObject } = {}) {
    super(code, message, options)
    this.details = options.details
  }
}

/** @throws WorkspaceError for a text in which a key was redacted: the file has, or would get, another text */
export function mustHaveNoMark(text: string): void {
  if (!text.toLowerCase().includes(KEY_MARK)) return
  throw new WorkspaceError('REDACTED', `The text has ${KEY_MARK} in it, which stands for a key that you were not shown; nothing was written. `
    + 'Edit around it, with an old text that ends before the key or begins behind it.')
}

/** A system error in words for the model: what failed, on which path, and why. A WorkspaceError is left as it is. */
export function fileError(error: unknown, action: string, shown: string): WorkspaceError {
  if (error instanceof WorkspaceError) return error
  const code = codeOf(error)
  // A file is opened without following its last link.
  const reason = code === 'ELOOP' ? 'it is a symbolic link, or its links lead in a circle' : reasonOf(error)
  return new WorkspaceError('FILE_SYSTEM', `Cannot ${action} ${shown}: ${reason}${code === undefined ? '' : ` (${code})`}.`, { cause: error })
}

/** Why a signal ended a search or a read: results so far are kept, followed by this. */
export function stopReason(signal: AbortSignal): string {
  return isTimeUp(signal) ? 'the time was up' : 'the call was cancelled'
}

/** The reason that the loop gives where a tool takes longer than it may. */
function isTimeUp({ reason }: AbortSignal): boolean {
  return reason instanceof Error && (reason.name === 'TimeoutError' || /did not finish within/.test(reason.message))
}

/** @throws WorkspaceError where a call was cancelled before it found anything; where its time was up it says where it was */
export function mustHaveFound(count: number, signal: AbortSignal): void {
  if (count === 0 && signal.aborted && !isTimeUp(signal)) throw new WorkspaceError('CANCELLED', 'Cancelled; nothing was found so far.')
}

/** @throws WorkspaceError once the signal is aborted */
export function mustGoOn(signal: AbortSignal): void {
  if (signal.aborted) throw new WorkspaceError('CANCELLED', 'Cancelled; nothing was changed.')
}
