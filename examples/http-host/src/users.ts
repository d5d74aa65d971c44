import { createHash } from 'node:crypto'
import type { Config } from './config.ts'

const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64')

/** Who a bearer token belongs to. Looked up by digest, so that timing reveals nothing about tokens. */
export class Users {
  private readonly byDigest: ReadonlyMap<string, string>

  constructor(users: Config['users']) {
    this.byDigest = new Map(Object.entries(users).map(([user, token]) => [digestOf(token), user]))
  }

  /** The user of an `Authorization` header. */
  of(authorization: string | undefined): string | undefined {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    return token === undefined ? undefined : this.byDigest.get(digestOf(token))
  }
}
