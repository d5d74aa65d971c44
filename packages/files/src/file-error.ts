import { messageOf } from '@headrace/message'

/** The `code` of a system error, e.g. `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

const ABSENT: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'])
const PASSING: ReadonlySet<string | undefined> =
  new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EBUSY', 'EINTR', 'EIO', 'ESTALE', 'ETIMEDOUT'])

/** True where the error says that nothing is at a path. */
export function isAbsent(error: unknown): boolean {
  return ABSENT.has(codeOf(error))
}

/** True for a temporary failure: what was known before still holds. */
export function isPassing(error: unknown): boolean {
  return PASSING.has(codeOf(error))
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'the system does not permit it',
  EPERM: 'the system does not permit it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENAMETOOLONG: 'its name is too long',
  EBUSY: 'it is in use',
  EISDIR: 'it is a folder',
  ELOOP: 'its links lead in a circle',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  ENOENT: 'it is not there any more',
  ENOTDIR: 'a part of its path is a file',
}

/** The reason of a system error in a few words; else the error's own message. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error)
  return (code !== undefined && REASONS[code]) || messageOf(error)
}
