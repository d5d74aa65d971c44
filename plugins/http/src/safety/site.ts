import { Problem } from '../problem.ts'

/** Which names this server answers to, and which pages may ask it. */
export interface SiteOptions {
  /** Names that a `Host` header may have: `localhost` at any port, `localhost:8787` at this one. */
  readonly hosts: readonly string[]
  /** Origins of pages elsewhere that may read answers, exact: `https://app.example.com`. */
  readonly origins: readonly string[]
}

const METHODS = 'GET, POST, DELETE'
const HEADERS = 'authorization, content-type, idempotency-key, last-event-id, user-agent'

/**
 * Refuses what a page of another site makes a browser send: a name that is made to point here (DNS rebinding), and an origin that is not
 * listed. A request without `Origin` is from no page, or a page's own simple request, which the browser marks by `Sec-Fetch-Site`.
 *
 * @throws Problem
 */
export function checkSite(request: Request, url: URL, { hosts, origins }: SiteOptions): string | undefined {
  const host = (request.headers.get('host') ?? url.host).toLowerCase()
  if (!hosts.some((known) => known === host || known === nameOf(host))) throw new Problem(403, 'HOST_REFUSED', 'this server does not answer to that name; see the option hosts')
  const origin = request.headers.get('origin')
  if (origin === null) {
    const site = request.headers.get('sec-fetch-site')
    if (site !== null && site !== 'same-origin' && site !== 'none') throw refusedOrigin()
    return undefined
  }
  if (origin === `http://${host}` || origin === `https://${host}`) return undefined
  if (!origins.includes(origin)) throw refusedOrigin()
  return origin
}

/** The answer to a preflight of a listed origin; undefined for what is none. */
export function preflight(request: Request, origin: string | undefined): Response | undefined {
  if (request.method !== 'OPTIONS') return undefined
  const headers = { 'access-control-allow-methods': METHODS, 'access-control-allow-headers': HEADERS, 'access-control-max-age': '600' }
  return new Response(null, { status: 204, ...(origin !== undefined && { headers }) })
}

/** The answer, readable by the page of a listed origin and by no other. */
export function allowOrigin(response: Response, origin: string | undefined): Response {
  response.headers.append('vary', 'Origin')
  if (origin !== undefined) {
    response.headers.set('access-control-allow-origin', origin)
    response.headers.set('access-control-expose-headers', 'retry-after, x-vercel-ai-ui-message-stream')
  }
  return response
}

/** `[::1]:8787` without its port. */
function nameOf(host: string): string {
  return host.replace(/:\d{1,5}$/, '')
}

function refusedOrigin(): Problem {
  return new Problem(403, 'ORIGIN_REFUSED', 'a page of that origin may not ask this server; see the option origins')
}
