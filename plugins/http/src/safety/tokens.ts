import { isSessionId } from '@headrace/session'

/** Whether a text may be a token: what an `Authorization` header carries as it is, and too long to be guessed by hand. */
export function isToken(token: unknown): token is string {
  return typeof token === 'string' && /^[\w.~+/-]{8,200}=*$/.test(token)
}

/** @throws TypeError that says what is wrong and never quotes a token */
export function checkUsers(users: unknown): asserts users is Readonly<Record<string, string>> {
  if (typeof users !== 'object' || users === null || Object.keys(users).length === 0) throw new TypeError('http: users must give the token of at least one user, as in { alice: "…" }')
  for (const [user, token] of Object.entries(users)) {
    if (!isUser(user)) throw new TypeError(`http: ${JSON.stringify(user.slice(0, 80))} cannot be a user; use 1 to 64 of a-z, 0-9, "-" and "_"`)
    if (!isToken(token)) throw new TypeError(`http: the token of user ${user} must be a text of 8 to 200 letters, digits and ._~+/-`)
  }
  if (new Set(Object.values(users)).size < Object.keys(users).length) throw new TypeError('http: two users have the same token')
}

/** Whether it can be a user's name: a part of session ids, and the name of a folder. */
export function isUser(user: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,63}$/.test(user) && isSessionId(`${user}.0`)
}

/** Whether nobody but this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
