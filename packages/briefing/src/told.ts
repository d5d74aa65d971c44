import { textOf } from '@headrace/message'
import type { Agent } from '@headrace/agent'
import type { SessionEvent } from '@headrace/session'

/**
 * What an agent's model was told last, by owner: the last message of that owner in the history that no `surface/replace` hides, the open
 * step's included. Kept one event at a time; a replace has it looked up anew.
 */
export class Told {
  private readonly agent: Agent
  private last: Map<string, string> | undefined

  constructor(agent: Agent) {
    this.agent = agent
  }

  /** Text of the last message of an owner that is visible. */
  by(owner: string): string | undefined {
    return this.look().get(owner)
  }

  /** The same of all owners of a plugin, by key. */
  from(plugin: string): ReadonlyMap<string, string> {
    const start = `${plugin}/`
    return new Map([...this.look()].filter(([owner]) => owner.startsWith(start)).map(([owner, text]) => [owner.slice(start.length), text]))
  }

  private look(): Map<string, string> {
    return (this.last ??= new Map(this.agent.session.entries().filter(({ owner }) => owner.includes('/')).map(({ owner, message }) => [owner, textOf(message)])))
  }

  apply(event: SessionEvent): void {
    if (!this.last) return
    if (event.type === 'surface/replace') this.last = undefined
    else if (event.type === 'context/message') this.last.set(event.data.owner, textOf(event.data.message))
    else if (event.type === 'tool/result') for (const { owner, message } of event.data.additionalContext ?? []) this.last.set(owner, textOf(message))
  }
}
