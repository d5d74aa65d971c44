import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Pair, type PairInput, RunContext, type RunContextOptions, contextEvent, decode, fromEvent } from '@headrace/run-context'
import { stripTrailing } from '../src/text.ts'

const text = fc.string({ unit: 'binary', maxLength: 12 }).map((value) => value.toWellFormed())
const spaced = fc.tuple(text, fc.constantFrom('', '\n', ' \u0085', '\u3000', '\uFEFF')).map((parts) => parts.join(''))
const key = text.filter((value) => stripTrailing(value) !== '')
const list: fc.Arbitrary<PairInput[]> = fc.array(fc.tuple(key, fc.option(spaced, { nil: undefined })), { maxLength: 5 })
const options = fc.record({ facts: list, headSections: list, tailSections: list })
/** Stored lists: what a context keeps as it is given. */
const storedList: fc.Arbitrary<Pair[]> = fc.array(fc.tuple(key, text.map(stripTrailing)), { maxLength: 4 })
const stored = fc.record({ facts: storedList, headSections: storedList, tailSections: storedList })

const bytes = (context: RunContext) => {
  const { headMessage, tailMessage, headSections, tailSections } = context
  return JSON.stringify([context, headMessage, tailMessage, headSections, tailSections, String(context)])
}

describe('for all contexts', () => {
  it('same arguments, same bytes', () => {
    fc.assert(fc.property(options, (given) => {
      expect(bytes(new RunContext(structuredClone(given)))).toBe(bytes(new RunContext(given)))
    }))
  })

  it('what is stored, given again, is the same context', () => {
    fc.assert(fc.property(options, (given) => {
      const context = new RunContext(given)
      const { facts, headSections, tailSections } = context
      expect(bytes(new RunContext({ facts, headSections, tailSections }))).toBe(bytes(context))
    }))
  })

  it('the digest is equal exactly when the stored lists are: order and placement count', () => {
    fc.assert(fc.property(stored, stored, (a, b) => {
      expect(new RunContext(a).digest === new RunContext(b).digest).toBe(JSON.stringify(a) === JSON.stringify(b))
    }))
    const different = fc.tuple(storedList, fc.nat(), fc.nat())
      .filter(([pairs, i, j]) => pairs.length > 1 && JSON.stringify(pairs[i % pairs.length]) !== JSON.stringify(pairs[j % pairs.length]))
    fc.assert(fc.property(different, fc.constantFrom('facts', 'headSections', 'tailSections'), ([pairs, i, j], name) => {
      const swapped = pairs.with(i % pairs.length, pairs[j % pairs.length]!).with(j % pairs.length, pairs[i % pairs.length]!)
      expect(new RunContext({ [name]: swapped }).digest).not.toBe(new RunContext({ [name]: pairs }).digest)
    }))
  })

  it('a section keeps its digest wherever it is placed, and the context does not', () => {
    fc.assert(fc.property(key, spaced, storedList, (name, body, others) => {
      const head = new RunContext({ headSections: [[name, body]], tailSections: others })
      const tail = new RunContext({ tailSections: [...others, [name, body]] })
      expect(tail.sections.at(-1)?.digest).toBe(head.sections[0]?.digest)
      expect(tail.digest).not.toBe(head.digest)
    }))
  })

  it('nothing that happens to the arguments afterwards changes it', () => {
    fc.assert(fc.property(options, options, (given, later) => {
      const context = new RunContext(given)
      const before = bytes(context)
      for (const name of ['facts', 'headSections', 'tailSections'] as const) {
        for (const pair of given[name] as unknown as string[][]) pair.fill('changed')
        given[name].splice(0, given[name].length, ...later[name])
      }
      expect(bytes(context)).toBe(before)
    }))
  })

  it('there is a head exactly when a head section, and a tail exactly when a fact or a tail section, has something to say', () => {
    fc.assert(fc.property(options, (given) => {
      const context = new RunContext(given)
      const says = (pairs: readonly PairInput[]) => pairs.some(([, value]) => stripTrailing(value ?? '') !== '')
      expect(context.headMessage !== undefined).toBe(says(given.headSections))
      expect(context.tailMessage !== undefined).toBe(given.facts.some(([, value]) => value !== undefined) || says(given.tailSections))
      expect(context.isEmpty).toBe(context.digest === new RunContext().digest)
    }))
  })

  it('its JSON is it: the same context comes back', () => {
    fc.assert(fc.property(options, (given) => {
      const context = new RunContext(given)
      expect(bytes(fromEvent(JSON.parse(JSON.stringify(context))))).toBe(bytes(context))
    }))
  })

  it('a log of any contexts holds each body once, refers straight to its carrier, and gives every context back', () => {
    // Few keys and bodies, so that they repeat.
    const few: fc.Arbitrary<Pair[]> = fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('', 'x', 'y')), { maxLength: 4 })
    const session = fc.array(fc.record({ facts: few, headSections: few, tailSections: few }), { maxLength: 6 })
    fc.assert(fc.property(session, (turns: RunContextOptions[]) => {
      const carriers = new Map<string, number>()
      const contexts = turns.map((turn) => new RunContext(turn))
      const log = contexts.map((context, seq) => {
        const data = contextEvent(context, (digest) => carriers.get(digest), seq)
        for (const section of data.sections) {
          if ('in' in section) continue
          expect(carriers.has(section.digest)).toBe(false)
          carriers.set(section.digest, seq)
        }
        return JSON.stringify(data)
      })
      const bodyOf = (seq: number, digest: string) => {
        const { sections } = JSON.parse(log[seq]!) as { sections: { digest: string, rendered?: string }[] }
        return sections.find((section) => section.digest === digest && section.rendered !== undefined)?.rendered
      }
      expect(log.map((line) => bytes(decode(JSON.parse(line), bodyOf)))).toEqual(contexts.map(bytes))
    }))
  })
})
