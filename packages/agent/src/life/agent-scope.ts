import type { Context } from 'cordis'
import { authoredBy, kScope, scopePlugin } from '../seams/owner.ts'

/** The contexts whose plugins, listeners and tools serve one agent alone, and go with it. Its fiber is made on first use. */
export class AgentScope {
  private readonly home: Context
  private readonly agent: string
  private scoped: Context | undefined
  private readonly contexts = new Map<string, Context>()

  /** @param home the context of whoever created the agent */
  constructor(home: Context, agent: string) {
    this.home = home
    this.agent = agent
  }

  /** As a plugin has it: what it registers there is the plugin's. */
  contextOf(plugin: string): Context {
    this.scoped ??= this.home.extend({ [kScope]: this.agent }).plugin(scopePlugin).ctx
    let ctx = this.contexts.get(plugin)
    if (!ctx) this.contexts.set(plugin, (ctx = this.scoped.extend(authoredBy(plugin))))
    return ctx
  }

  async dispose(): Promise<void> {
    await this.scoped?.fiber.dispose()
  }
}
