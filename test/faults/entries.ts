import type { Context } from 'cordis'
import { expect } from 'vitest'
import { eventsOf } from '../laws/help.ts'
import type { Ran } from './world.ts'

/** A place, other than a seam that asks, where a plugin's own code is called. */
export interface Entry {
  readonly entry: string
  /** Registers it: `act` is called where the plugin's code would be, and what it returns is given back. */
  register(ctx: Context, act: () => unknown): unknown
  /** A wrong value may be taken as plain JSON, or as nothing. */
  readonly lenient?: true
  readonly inject?: readonly string[]
  /** The model of the app is this one. */
  readonly model?: string
  broken(ran: Ran): void
}

const PARAMETERS = { type: 'object' } as const

const outcomeOf = ({ log }: Ran, name: string): unknown => eventsOf(log, 'tool/result').find(({ data }) => data.message.content[0].name === name)?.data.outcome

const ends = (seam: string) => ({ result }: Ran): void => expect(result).toMatchObject({ reason: 'error', error: { plugin: 'bad', seam } })

const names = ({ made }: Ran, seam: string): void => expect(made.reports).toContainEqual(expect.objectContaining({ plugin: 'bad', seam }))

/** A schema that validates as it likes. */
const schema = (act: () => unknown): never => ({
  '~standard': { version: 1, vendor: 'test', validate: act, jsonSchema: { input: () => PARAMETERS, output: () => PARAMETERS } },
}) as never

const passed = ({ result }: Ran): void => expect(result).toMatchObject({ reason: 'done' })

export const ENTRIES: readonly Entry[] = [
  {
    entry: 'execute of a tool', lenient: true,
    register: (ctx, act) => ctx.tools.define({ name: 'own', description: '', parameters: PARAMETERS, execute: act as () => string }),
    broken(ran) {
      passed(ran)
      expect(outcomeOf(ran, 'own')).toBe('error')
    },
  },
  {
    entry: 'ask of a tool', lenient: true,
    register: (ctx, act) => ctx.tools.define({ name: 'own', description: '', parameters: PARAMETERS, ask: act as () => string, execute: () => 'ran' }),
    broken(ran) {
      passed(ran)
      expect(outcomeOf(ran, 'own')).toBe('denied')
      names(ran, 'tools/pre-execute')
    },
  },
  {
    entry: 'the schema of a tool', lenient: true,
    register: (ctx, act) => ctx.tools.define({ name: 'own', description: '', parameters: schema(act), execute: () => 'ran' }),
    broken(ran) {
      passed(ran)
      expect(outcomeOf(ran, 'own')).toBe('error')
    },
  },
  {
    entry: 'a section of the system prompt',
    register: (ctx, act) => ctx.system.section({ key: 'who', content: act as () => string }),
    broken: ends('system'),
  },
  {
    entry: 'ctx.agents.prefix', lenient: true,
    register: (ctx, act) => ctx.agents.prefix({ key: 'p', content: act as () => string }), broken: ends('agent/session-prefix'),
  },
  {
    entry: 'ctx.agents.before', lenient: true,
    register: (ctx, act) => ctx.agents.before({ key: 'b', content: act as () => string }), broken: ends('agent/request-messages'),
  },
  {
    entry: 'ctx.agents.after', lenient: true,
    register: (ctx, act) => ctx.agents.after({ key: 'a', content: act as () => string }), broken: ends('agent/request-messages'),
  },
  {
    entry: 'a topic of the briefing', lenient: true,
    inject: ['briefing'], register: (ctx, act) => ctx.briefing.topic({ key: 't', content: act as () => string }),
    broken(ran) {
      passed(ran)
      expect(ran.made.reports).toContainEqual(expect.objectContaining({ plugin: 'bad', seam: 'topic t' }))
    },
  },
  {
    entry: 'a listener of llm/stream',
    register: (ctx, act) => ctx.on('llm/stream', act as never, { prepend: true }),
    broken: ({ result }) => expect(result).toMatchObject({ reason: 'error', error: { failure: { kind: 'plugin', message: expect.stringMatching(/plugin bad in llm\/stream/) as unknown } } }),
  },
  {
    entry: 'an adapter', model: 'own/model',
    register: (ctx, act) => ctx.llm.adapter('own', { stream: act as never }),
    broken: ({ result }) => expect(result).toMatchObject({ reason: 'error', error: { code: 'MODEL_FAILED' } }),
  },
]
