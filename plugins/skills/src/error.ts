import { HeadraceError, messageOf } from '@headrace/message'

/** Codes of a `SkillError`. */
export type SkillErrorCode = 'SKILL_UNKNOWN' | 'SKILL_UNREADABLE' | 'RESOURCE_OUTSIDE' | 'RESOURCE_MISSING' | 'RESOURCE_UNREADABLE' | 'OFFSET_INVALID'

/** What the `skill` tool refuses or could not do; the message is written for the model. */
export class SkillError extends HeadraceError {
  constructor(code: SkillErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options)
  }
}

/** The `code` of a system error, e.g. `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** True where there is nothing at a path. */
export function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')
}

/** True where the system could not tell now, and may later: what was known stands. */
export function isPassing(error: unknown): boolean {
  return ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EBUSY', 'EIO', 'ESTALE', 'ETIMEDOUT'].includes(codeOf(error) ?? '')
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'the system does not permit it',
  EPERM: 'the system does not permit it',
  EISDIR: 'it is a folder',
  ELOOP: 'its links lead in a circle',
  EMFILE: 'too many files are open',
  ENOENT: 'it is not there any more',
  ENOTDIR: 'a part of its path is a file',
}

/** Why a path could not be read, in a few words. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error)
  return (code !== undefined && REASONS[code]) || messageOf(error)
}
