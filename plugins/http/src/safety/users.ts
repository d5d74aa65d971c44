import { createHash } from 'node:crypto'

const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64')

/** Who a bearer token belongs to. Looked up by digest, so that timing reveals nothing about tokens. */
export class Users {
  private readonly byDigest: ReadonlyMap<string, string>

  /** @param users the token of each */
  constructor(users: Readonly<Record<string, string>>) {
    this.byDigest = new Map(Object.entries(users).map(([user, token]) => [digestOf(token), user]))
  }

  /**
   * The user of a request: of its `Authorization` header or, where a browser's `EventSource` cannot send one, of a GET's query
   * `access_token`.
   */
  of(request: Request, url: URL): string | undefined {
    const given = request.headers.get('authorization')
    const query = request.method === 'GET' ? url.searchParams.get('access_token') : null
    const token = given === null ? query : /^Bearer +(\S+)$/i.exec(given)?.[1]
    return token === null || token === undefined ? undefined : this.byDigest.get(digestOf(token))
  }
}
