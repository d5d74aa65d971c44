import type { Context } from 'cordis'
import type { Agent, Keyed } from '@headrace/agent'
import type { KeyedPlace } from '@headrace/agent/internal'

/** Returned by a topic that cannot be read now: what was told stands. */
export const unavailable: unique symbol = Symbol.for('headrace.unavailable')

/** The present text of a topic; blank, `undefined` and `null` are nothing. */
export type Reading = string | undefined | null | typeof unavailable

/**
 * A keyed piece of standing context: told once, announced when it changes.
 *
 * ```ts
 * ctx.briefing.topic({ key: 'runbook', content: () => readFile('RUNBOOK.md', 'utf8') })
 * ```
 */
export interface Topic extends Keyed<string | ((agent: Agent) => Reading | Promise<Reading>)> {
  /**
   * The present state: a text, or a function that reads it, called ahead of every prompt and step, so that it must be cheap where nothing
   * changed. Throwing keeps the old and is reported.
   */
  readonly content: string | ((agent: Agent) => Reading | Promise<Reading>)
  /** The announcement of a changed state. A pure function of the state. Default: says that it replaces what was said before. */
  changed?(text: string): string
  /** The announcement of a removed state. Default: says that it no longer holds. */
  removed?(): string
  /** Where it is told first. `history` (the default): paid once. `prefix`: survives compaction; recomposed on resume. */
  readonly baseline?: 'history' | 'prefix'
  /**
   * The plugin's tool whose results tell the state: one that is visible and no error counts as an announcement, in its own words. So a tool
   * that changes the state gives the new state's text, and it is announced again only when compaction hid it.
   */
  readonly tool?: string
}

/** A topic that is registered. */
export interface TopicEntry extends KeyedPlace {
  readonly topic: Topic
  readonly ctx: Context
}

/** The text of an announcement that replaces an earlier one; the first one is the state itself. */
export function changedWords({ topic, key }: TopicEntry, text: string | undefined): string {
  if (text === undefined) return topic.removed?.() ?? `What was said earlier about "${key}" no longer holds.`
  return topic.changed?.(text) ?? `This replaces what was said earlier about "${key}":\n\n${text}`
}
