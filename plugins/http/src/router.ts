import type { Context } from 'cordis'
import type { HandlerSettings } from './options.ts'
import { Problem } from './problem.ts'
import type { UserSessions } from './sessions.ts'

/** What is known of a request's connection. */
export interface Connection {
  /** Closes it. */
  readonly cut?: () => void
}

/** What every route has. */
export interface Parts {
  readonly ctx: Context
  readonly settings: HandlerSettings
  readonly sessions: UserSessions
  /** Aborted when all streams end. */
  readonly closing: AbortSignal
}

/** A request of a user. */
export interface Asked {
  readonly request: Request
  readonly url: URL
  readonly connection: Connection
  readonly user: string
  /** What stands in the path for `:name`. */
  readonly params: Readonly<Record<string, string>>
}

/** A path with `:name` for a segment, its method, and what answers. */
export type Route = readonly [method: 'GET' | 'POST' | 'DELETE', path: string, answer: (asked: Asked) => Promise<Response>]

/** Finds the route of a request. */
export class Router {
  private readonly routes: readonly { readonly method: string; readonly segments: readonly string[]; readonly answer: Route[2] }[]

  constructor(routes: readonly Route[]) {
    this.routes = routes.map(([method, path, answer]) => ({ method, segments: path.split('/'), answer }))
  }

  /** @throws Problem where there is none */
  async answer(asked: Omit<Asked, 'params'>, path: string): Promise<Response> {
    const given = path.split('/')
    const { method } = asked.request
    const fits = this.routes.flatMap((route) => {
      const params = paramsOf(route.segments, given)
      return params ? [{ route, params }] : []
    })
    // A HEAD is a GET whose body nobody reads.
    const found = fits.find(({ route }) => route.method === (method === 'HEAD' ? 'GET' : method))
    if (found) return found.route.answer({ ...asked, params: found.params })
    if (fits.length > 0) throw new Problem(405, 'METHOD_INVALID', 'that method does nothing here')
    throw new Problem(404, 'NOT_FOUND', 'there is nothing here')
  }
}

function paramsOf(segments: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (segments.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, segment] of segments.entries()) {
    const text = given[index]!
    if (!segment.startsWith(':')) {
      if (segment !== text) return undefined
      continue
    }
    try {
      params[segment.slice(1)] = decodeURIComponent(text)
    } catch {
      return undefined
    }
  }
  return params
}
