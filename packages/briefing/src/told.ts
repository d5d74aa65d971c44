import { textOf } from '@headrace/message'
import type { Agent } from '@headrace/agent'
import type { SessionEvent } from '@headrace/session'

/**
 * What an agent's model was told last, by owner: the last message of that owner in the history that no replace or rewind hides, the open
 * step's included. Kept up to the last look; those have it looked up anew.
 */
export class Told {
  private readonly agent: Agent
  private last: Map<string, string> | undefined
  /** The event that comes next. */
  private next = 0

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

  /** Takes in what has happened since the last look; cheaper than to listen to every event. */
  private look(): Map<string, string> {
    const { session } = this.agent
    if (this.last && this.next === session.length) return this.last
    for (const event of this.last ? session.events(this.next) : []) this.apply(event)
    this.next = session.length
    return (this.last ??= new Map(this.agent.session.entries().filter(({ owner }) => owner.includes('/')).map(({ owner, message }) => [owner, textOf(message)])))
  }

  private apply(event: SessionEvent): void {
    if (!this.last) return
    if (event.type === 'surface/replace' || event.type === 'surface/rewind') this.last = undefined
    else if (event.type === 'context/message') this.last.set(event.data.owner, textOf(event.data.message))
    else if (event.type === 'tool/result') for (const { owner, message } of event.data.additionalContext ?? []) this.last.set(owner, textOf(message))
  }
}
