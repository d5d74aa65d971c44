import { type Digest, type SystemMessage, copyJson } from '@headrace/message'
import { contextDigest } from './digest.ts'
import { type Lists, type Pair, type RunContextOptions, readOptions } from './input.ts'
import { renderHead, renderTail } from './render.ts'
import { type Section, toSections } from './section.ts'
import { CONTEXT_TEMPLATE } from './template.ts'

/** All of a context, as data: what `toJSON()` gives and `fromEvent()` takes. */
export interface RenderedContext {
  readonly digest: Digest
  readonly template: string
  readonly facts: readonly Pair[]
  readonly sections: readonly Section[]
}

/**
 * What is true right now, rendered into a request and never into the conversation. Immutable; reads no clock, directory,
 * environment, file or repository: same arguments, same bytes, in any process.
 *
 * ```ts
 * new RunContext({ facts: [['date', today], ['branch', branch]], headSections: [['project', instructions]] })
 * ```
 */
export class RunContext implements Lists {
  readonly facts: readonly Pair[]
  readonly headSections: readonly Pair[]
  readonly tailSections: readonly Pair[]
  /** Head first, then tail. */
  readonly sections: readonly Section[]
  /** Over the three lists as stored; order and placement count. */
  readonly digest: Digest
  /** The version of the heading and the fixed lines. */
  readonly template: string
  /** The first message after the frozen prefix; `undefined` when all head sections are blank. */
  readonly headMessage: SystemMessage | undefined
  /** The last message; `undefined` when there are no facts and all tail sections are blank. */
  readonly tailMessage: SystemMessage | undefined

  /** @throws RunContextError (a `TypeError` with `code`, `argument`, `index`, `key`) for the first thing that is refused */
  constructor(options: RunContextOptions = {}) {
    const lists = readOptions(options)
    this.facts = lists.facts
    this.headSections = lists.headSections
    this.tailSections = lists.tailSections
    this.sections = toSections(lists)
    this.digest = contextDigest(lists)
    this.template = CONTEXT_TEMPLATE
    this.headMessage = renderHead(lists)
    this.tailMessage = renderTail(lists)
    Object.freeze(this)
  }

  /** True when nothing is stored. A blank section is stored: it counts in the digest, though it is in no message. */
  get isEmpty(): boolean {
    return this.facts.length === 0 && this.sections.length === 0
  }

  /** All of it, as data. */
  toJSON(): RenderedContext {
    const { digest, template, facts, sections } = this
    return copyJson({ digest, template, facts, sections })
  }

  toString(): string {
    return `RunContext ${this.digest.slice(0, 8)}`
  }
}
