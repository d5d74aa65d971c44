import type { Context } from 'cordis'
import { AgentError } from '../contract/error.ts'

/** The copy of this package that an app runs, and how many of its fibers live. */
interface Claim {
  readonly copy: string
  fibers: number
}

/** By app; shared by all copies of the package in a process. */
const kClaims: unique symbol = Symbol.for('headrace.agent.claims') as never
const holder = globalThis as { [kClaims]?: WeakMap<object, Claim> }
const claims = (holder[kClaims] ??= new WeakMap())

/**
 * Claims an app for this copy of the package: two would not see each other's agents, nor know each other's errors and contributions.
 * One copy may be mounted more than once.
 *
 * @param copy where this copy stands
 * @returns the call that gives the claim back
 * @throws AgentError that names both copies while a fiber of the other lives
 */
export function claim(ctx: Context, copy: string = import.meta.url): () => void {
  const app = ctx.root
  const held = claims.get(app)
  if (held && held.fibers > 0 && held.copy !== copy) {
    throw new AgentError('AGENT_COPIES', `this app runs another copy of @headrace/agent already (${held.copy}; this one is ${copy}). ` +
      'Install one version for all packages: npm ls @headrace/agent shows who brings which')
  }
  const mine = held?.copy === copy ? held : { copy, fibers: 0 }
  mine.fibers++
  claims.set(app, mine)
  return () => void mine.fibers--
}
