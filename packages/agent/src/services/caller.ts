import type { Context } from 'cordis'
import { AgentError } from '../contract/error.ts'
import { pluginOf } from '../seams/owner.ts'

/**
 * The context that a method of a service was called through: whose it is, signs (L14). A method that was taken off its service, or called
 * on an object that looks like one, has none.
 *
 * @param method as it is called, e.g. `ctx.agents.get`
 * @throws AgentError
 */
export function callerOf(service: unknown, method: string): Context {
  try {
    const { ctx } = service as { readonly ctx: Context }
    pluginOf(ctx)
    return ctx
  } catch (error) {
    throw new AgentError('CALLER_UNKNOWN', `${method}() was called on what is not the service of a context; call it as ${method}(…)`, { cause: error })
  }
}
