import { type Digest, copyJson } from '@headrace/message'
import { type RenderedContext, RunContext } from './context.ts'
import { sectionDigest } from './digest.ts'
import { ContextEventError } from './error.ts'
import { type Pair, isPlain } from './input.ts'
import type { Section, Where } from './section.ts'
import { CONTEXT_TEMPLATE } from './template.ts'

/** A section whose body is in the earlier event with seq `in`. */
export interface CarriedSection extends Omit<Section, 'rendered'> {
  readonly in: number
}

/** A section in a log: with its body, or with the event that carries it. */
export type EventSection = Section | CarriedSection

/** A context as a log holds it: facts in full, each section's body once a session. */
export interface ContextEvent extends Omit<RenderedContext, 'sections'> {
  readonly sections: readonly EventSection[]
}

/** Finds the body of a section in the event that carries it. */
export type BodyOf = (seq: number, section: Digest) => string | undefined

/**
 * A context as event data. `carrier` gives the seq of the event that holds a section's body already. With `seq`, that of
 * the event to be, a section that stands twice in one context has its body once too.
 */
export function contextEvent(context: RunContext, carrier: (section: Digest) => number | undefined, seq?: number): ContextEvent {
  const here = new Set<Digest>()
  const sections = context.sections.map((section): EventSection => {
    const { name, where, digest } = section
    const from = here.has(digest) ? seq : carrier(digest)
    here.add(digest)
    return from === undefined ? section : { name, where, digest, in: from }
  })
  const { digest, template, facts } = context
  return copyJson({ digest, template, facts, sections })
}

/**
 * The context that event data came from, rendered again and verified. `bodyOf` gives the body of a section that stands in
 * another event.
 *
 * @throws ContextEventError where a body is missing, the template is another version's, or a digest differs
 */
export function decode(data: ContextEvent, bodyOf: BodyOf): RunContext {
  checkEvent(data)
  if (data.template !== CONTEXT_TEMPLATE) {
    const logged = JSON.stringify(data.template)
    throw new ContextEventError('CONTEXT_TEMPLATE_UNKNOWN', `the context was rendered with ${logged}; this version renders ${CONTEXT_TEMPLATE} only`)
  }
  const context = rebuild(data.facts, resolve(data.sections, bodyOf))
  verify('the context', data.digest, context.digest)
  return context
}

/** {@link decode} for data with all of its bodies, e.g. that of `toJSON()`. */
export function fromEvent(data: RenderedContext): RunContext {
  return decode(data, () => undefined)
}

function resolve(sections: readonly EventSection[], bodyOf: BodyOf): readonly Section[] {
  // A section that stands twice in one event refers to the event itself.
  const here = new Map<Digest, string>()
  return sections.map((section) => {
    const { name, where, digest } = section
    const rendered = 'in' in section ? (here.get(digest) ?? carriedBody(section, bodyOf)) : section.rendered
    verify(`section ${JSON.stringify(name)}`, digest, sectionDigest(name, rendered))
    here.set(digest, rendered)
    return { name, where, digest, rendered }
  })
}

function carriedBody(section: CarriedSection, bodyOf: BodyOf): string {
  const body = bodyOf(section.in, section.digest)
  if (body !== undefined) return body
  const what = `section ${JSON.stringify(section.name)} (${section.digest})`
  throw new ContextEventError('CONTEXT_BODY_MISSING', `the body of ${what} is not in the log: event ${section.in} should carry it`)
}

function rebuild(facts: readonly Pair[], sections: readonly Section[]): RunContext {
  const pairs = (where: Where) =>
    sections.filter((section) => section.where === where).map(({ name, rendered }) => [name, rendered] as const)
  try {
    return new RunContext({ facts, headSections: pairs('head'), tailSections: pairs('tail') })
  } catch (cause) {
    throw new ContextEventError('CONTEXT_EVENT_INVALID', 'the logged context holds what no RunContext does', { cause })
  }
}

function verify(what: string, logged: Digest, found: Digest): void {
  if (logged !== found) throw new ContextEventError('CONTEXT_DIGEST_MISMATCH', `${what} was logged with digest ${logged}, but what the log holds has ${found}`)
}

/** Data from a file may have any shape, whatever its type says. */
function checkEvent(data: unknown): void {
  const event = (isPlain(data) ? data : {}) as Partial<Record<keyof ContextEvent, unknown>>
  const sound = typeof event.digest === 'string' && typeof event.template === 'string' && Array.isArray(event.facts) &&
    Array.isArray(event.sections) && event.sections.every(isSection)
  if (sound) return
  const shape = '{ digest, template, facts, sections: [{ name, where, digest, rendered or in }] }'
  throw new ContextEventError('CONTEXT_EVENT_INVALID', `a logged context has the shape ${shape}`)
}

export function isSection(value: unknown): value is EventSection {
  if (!isPlain(value)) return false
  const { name, where, digest, ...body } = value as Partial<Record<keyof Section, unknown>> & { in?: unknown }
  return typeof name === 'string' && (where === 'head' || where === 'tail') && typeof digest === 'string' &&
    ('in' in body ? Number.isSafeInteger(body.in) : typeof body.rendered === 'string')
}
