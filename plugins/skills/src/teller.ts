import { Context } from 'cordis'
import { messageOf } from '@headrace/message'
import { type Agent, serves } from '@headrace/agent'
import type { Diagnostic } from './diagnostic.ts'
import type { Shelf } from './shelf.ts'
import { Slices } from './slices.ts'

/** Tells of what is wrong with skills: `skills/diagnostic` and Cordis' log, each diagnostic once to each agent while it lasts. */
export class Teller {
  private readonly ctx: Context
  private readonly slices = new Slices()
  private readonly told = new WeakMap<Agent['session'], { readonly shelf: Shelf; readonly keys: ReadonlySet<string> }>()

  constructor(ctx: Context) {
    this.ctx = ctx
  }

  /** Resolves when all listeners were called. */
  async tell(agent: Agent, shelf: Shelf): Promise<void> {
    const last = this.told.get(agent.session)
    if (last?.shelf === shelf) return
    const current = new Map(shelf.diagnostics.map((diagnostic) => [JSON.stringify(diagnostic), diagnostic]))
    this.told.set(agent.session, { shelf, keys: new Set(current.keys()) })
    for (const [key, diagnostic] of current) if (!last?.keys.has(key)) await this.slices.run(() => this.emit(agent.id, diagnostic))
  }

  private emit(id: string, diagnostic: Diagnostic): void {
    const { ctx } = this
    // Nobody's view: a listener signs with its own plugin's name.
    const agent = ctx.fiber.uid === null ? undefined : ctx.root.get('agents')?.get(id)
    if (!agent) return
    ctx.logger.warn('%s: %s', diagnostic.path, diagnostic.message)
    const scope = { [Context.filter]: (other: Context) => serves(other, id) }
    ctx.parallel(scope, 'skills/diagnostic', agent, diagnostic).catch((error: unknown) => {
      for (const one of error instanceof AggregateError ? error.errors : [error]) ctx.logger.warn('a listener of skills/diagnostic failed: %s', messageOf(one))
    })
  }
}
