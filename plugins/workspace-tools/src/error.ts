import { HeadraceError, messageOf } from '@headrace/message'

/** Codes of a `WorkspaceError`. */
export type WorkspaceErrorCode =
  | 'PATH_INVALID' | 'PATH_OUTSIDE' | 'PATH_UNRESOLVED' | 'NOT_FOUND' | 'NOT_A_FILE' | 'NOT_A_FOLDER' | 'NOT_TEXT' | 'READ_ONLY' | 'TOO_LARGE'
  | 'CHANGED' | 'NO_MATCH' | 'MANY_MATCHES' | 'PATTERN_INVALID' | 'COMMAND_INVALID' | 'CANCELLED' | 'CONFIG_INVALID' | 'FILE_SYSTEM'

/** What a tool refuses or could not do; the message is written for the model. */
export class WorkspaceError extends HeadraceError {
  constructor(code: WorkspaceErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options)
  }
}

/** The `code` of a system error, e.g. `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'the system does not permit it',
  EPERM: 'the system does not permit it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENAMETOOLONG: 'its name is too long',
  ENOENT: 'it is not there any more',
  EBUSY: 'it is in use',
  ELOOP: 'it is a symbolic link, or links that lead in a circle',
  ENOTDIR: 'a part of the path is not a folder',
  EMFILE: 'too many files are open; try again',
}

/** A system error as one a model can read: what could not be done, to which path, and why. Its own errors pass through. */
export function fileError(error: unknown, action: string, shown: string): WorkspaceError {
  if (error instanceof WorkspaceError) return error
  const code = codeOf(error)
  const reason = (code !== undefined && REASONS[code]) || messageOf(error)
  return new WorkspaceError('FILE_SYSTEM', `Cannot ${action} ${shown}: ${reason}${code === undefined ? '' : ` (${code})`}.`, { cause: error })
}

/** @throws WorkspaceError once the signal is aborted */
export function mustGoOn(signal: AbortSignal): void {
  if (signal.aborted) throw new WorkspaceError('CANCELLED', 'Cancelled; nothing was changed.')
}
