import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/client'
import { sha256 } from '@headrace/message'
import { stateHome } from '@headrace/files'
import { fieldsOf } from './told.ts'

/** The stored sign-in at one server. */
export interface Saved {
  readonly url: string
  /** The redirect URL, registered with the client. */
  readonly port?: number
  readonly client?: OAuthClientInformationMixed
  readonly tokens?: OAuthTokens
}

/**
 * Tokens of a server, by its URL, in the user's state folder: a file that only the user can read; never in a log or a
 * workspace.
 */
export class Credentials {
  private readonly url: string
  private readonly path: string

  constructor(url: string) {
    this.url = url
    this.path = join(stateHome(), 'headrace', 'mcp', `${sha256(url).slice(0, 32)}.json`)
  }

  async load(): Promise<Saved> {
    try {
      const saved = fieldsOf(JSON.parse(await readFile(this.path, 'utf8')))
      if (saved.url === this.url) return saved as unknown as Saved
    } catch {
      // Missing or cut off: the user signs in.
    }
    return { url: this.url }
  }

  /** Atomic for readers in other processes. */
  async save(saved: Saved): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 })
    const temporary = `${this.path}.${process.pid}.new`
    try {
      await writeFile(temporary, JSON.stringify(saved), { mode: 0o600 })
      await chmod(temporary, 0o600)
      await rename(temporary, this.path)
    } finally {
      await rm(temporary, { force: true })
    }
  }
}
