import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { stateHome } from '@headrace/files'
import { isToken } from './tokens.ts'

/** Where the token is, unless the config says another place. */
export const tokenPath = (): string => join(stateHome(), 'headrace', 'http-token')

/**
 * The token of this machine's user, in a file that only they can read: the same after a restart, so that clients go on.
 *
 * @returns `made` where there was none
 * @throws Error for a file that others can read, or that holds no token
 */
export async function tokenIn(path: string): Promise<{ readonly token: string; readonly made: boolean }> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const made = await make(path)
  if (made !== undefined) return { token: made, made: true }
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  try {
    const status = await file.stat()
    const own = process.getuid?.()
    const isMine = own === undefined || (status.uid === own && (status.mode & 0o077) === 0)
    if (!status.isFile() || !isMine) throw new Error(`${path} must be a file of this user that nobody else can read (mode 0600); remove it, and it is made anew`)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(1_000), 0, 1_000, 0)
    const token = buffer.toString('utf8', 0, bytesRead).trim()
    if (!isToken(token)) throw new Error(`${path} holds no token; remove it, and it is made anew`)
    return { token, made: false }
  } finally {
    await file.close()
  }
}

/** A new token in a new file; undefined where a file is there. */
async function make(path: string): Promise<string | undefined> {
  const token = randomBytes(32).toString('base64url')
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(`${token}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    return token
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw error
  }
}
