import { type Message, textOf } from '@headrace/message'
import type { Agent } from '@headrace/agent'
import type { SessionEvent } from '@headrace/session'

/** Owners of the topics that tool results tell, by tool name. */
export type TellingTools = ReadonlyMap<string, string>

/**
 * What an agent's model was told last, by owner: the last message of that owner in the history that no replace or rewind hides, the open
 * step's included. A result of a tool that tells for a topic is one of them. Kept up to the last look; a replace or a rewind has it looked
 * up anew.
 */
export class Told {
  private readonly agent: Agent
  private last: Map<string, string> | undefined
  /** The event that comes next. */
  private next = 0
  /** The tools at the last update. */
  private tools: TellingTools

  constructor(agent: Agent, tools: TellingTools) {
    this.agent = agent
    this.tools = tools
  }

  /** Sets the tools whose results tell topics: a new map whenever they change. */
  use(tools: TellingTools): void {
    if (tools === this.tools) return
    this.tools = tools
    this.last = undefined
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

  /** Applies the events since the last update; cheaper than listening to every event. */
  private look(): Map<string, string> {
    const { session } = this.agent
    if (this.last && this.next === session.length) return this.last
    for (const event of this.last ? session.events(this.next) : []) this.apply(event)
    this.next = session.length
    return (this.last ??= new Map(session.entries().flatMap(({ owner, message }) => this.toldBy(owner, message))))
  }

  /** Owner and text of a message that tells a topic; nothing for any other message. */
  private toldBy(owner: string, message: Message): readonly (readonly [owner: string, text: string])[] {
    if (message.role !== 'tool') return owner.includes('/') ? [[owner, textOf(message)]] : []
    // Called by position, not by id: one message is one result.
    const [result] = message.content
    const topic = result.error ? undefined : this.tools.get(result.name)
    return topic === undefined ? [] : [[topic, textOf(result)]]
  }

  private apply(event: SessionEvent): void {
    if (!this.last) return
    if (event.type === 'surface/replace' || event.type === 'surface/rewind') this.last = undefined
    else if (event.type === 'context/message') this.last.set(event.data.owner, textOf(event.data.message))
    else if (event.type === 'tool/result') {
      for (const [owner, text] of this.toldBy('tool', event.data.message)) this.last.set(owner, text)
      for (const { owner, message } of event.data.additionalContext ?? []) this.last.set(owner, textOf(message))
    }
  }
}
