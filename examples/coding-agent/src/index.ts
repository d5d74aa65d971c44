import { Context } from 'cordis'
import headrace, { type Config } from 'headrace'

/** The same agent in code, one function; `{ skills: false }` leaves a part out, `{ tools: { … } }` configures one. */
export async function codingAgent(config: Config = {}): Promise<Context> {
  const ctx = new Context()
  await ctx.plugin(headrace, config)
  return ctx
}
