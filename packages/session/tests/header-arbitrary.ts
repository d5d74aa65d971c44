import fc from 'fast-check'
import { defined } from '@headrace/message'
import type { EpochHeader, HeaderOwners } from '@headrace/session'
import { system, user } from './log-builder.ts'

const name = fc.constantFrom('a', 'b', 'read', 'z', '__proto__', 'constructor', '10', '2', 'ä')
const owner = fc.constantFrom('app', 'loop', 'a/x', 'b/y')
const message = fc.oneof(fc.constantFrom('', 'one', 'two\nlines', '{"in":3}').map(system), fc.string({ maxLength: 5 }).filter((text) => text.isWellFormed()).map(user))
const messages = fc.array(message, { maxLength: 3 })
const tool = fc.record({ name, description: fc.constantFrom('d', 'e'), parameters: fc.constantFrom({}, { type: 'object' }, { 2: 1, 1: 2 }) })
const lines = fc.array(fc.constantFrom('', 'a', 'b', 'c\r'), { maxLength: 6 }).map((parts) => parts.join('\n'))
const keyed = fc.array(fc.tuple(name, owner), { maxLength: 4 }).map((entries) => Object.fromEntries(entries))

const config = fc.record({
  model: fc.constantFrom('p/m', 'p/n', 'q/m', 'q/n/o'),
  temperature: fc.constantFrom(0, 0.5),
  stop: fc.constantFrom([], ['x']),
  providerOptions: fc.constantFrom({}, { a: [1, null] }),
}, { requiredKeys: ['model'] })

const owners: fc.Arbitrary<HeaderOwners> = fc.record({
  config: fc.constantFrom({}, { model: 'a/x' }, { model: 'a/x', stop: 'b/y' }, { stop: 'b/y', model: 'a/x' }),
  system: fc.array(fc.record({ owner, length: fc.nat({ max: 9 }) }), { maxLength: 2 }),
  tools: keyed,
  prefix: fc.array(owner, { maxLength: 2 }),
  before: fc.array(owner, { maxLength: 2 }),
  after: fc.array(owner, { maxLength: 2 }),
}, { requiredKeys: [] })

/** Any header: empty parts, tools in any order and twice, owners that do not fit. */
export const header: fc.Arbitrary<EpochHeader> = fc.record({ config, system: lines, tools: fc.array(tool, { maxLength: 4 }), prefix: messages, before: messages, after: messages, owners }, { requiredKeys: ['config', 'owners'] })

/** Headers as steps have them: most of their parts are one of few, so that they come again. */
export const headers: fc.Arbitrary<EpochHeader> = fc.oneof(
  header,
  fc.record({
    config,
    system: fc.constantFrom('one\ntwo\nthree', 'one\n2\nthree', undefined),
    prefix: fc.constantFrom([system('prefix')], [system('another')]),
    before: fc.constantFrom([system('before')], undefined),
    after: fc.constantFrom([system('before')], [system('1')], [system('2')], undefined),
    owners: fc.constantFrom({}, { prefix: ['a/x'] }),
  }).map((parts) => defined(parts) as EpochHeader),
)
