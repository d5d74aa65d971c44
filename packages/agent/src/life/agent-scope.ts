import type { Context } from 'cordis'
import { type Timer, startTimer } from '../seams/timer.ts'
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

  /** The context for one plugin: what is registered on it belongs to that plugin. */
  contextOf(plugin: string): Context {
    this.scoped ??= this.home.extend({ [kScope]: this.agent }).plugin(scopePlugin).ctx
    let ctx = this.contexts.get(plugin)
    if (!ctx) this.contexts.set(plugin, (ctx = this.scoped.extend(authoredBy(plugin))))
    return ctx
  }

  /** False where its plugins take longer than so many milliseconds to end: they are not waited for any more. */
  async disposeWithin(milliseconds: number): Promise<boolean> {
    let timer: Timer
    const late = new Promise<false>((resolve) => (timer = startTimer(milliseconds, () => resolve(false))))
    return Promise.race([this.dispose(), late]).finally(() => clearTimeout(timer))
  }

  private async dispose(): Promise<true> {
    await this.scoped?.fiber.dispose()
    return true
  }
}
