import { expect } from 'vitest'
import { eventsOf } from '../laws/help.ts'
import type { Ran } from './world.ts'

/** A seam, and its row of the table in the design. */
export interface Seam {
  readonly seam: string
  /** What ends a listener that never ends: its deadline, or only a cancel. */
  readonly deadline: boolean
  /** Ways to put a value where the seam takes one. */
  readonly places: readonly ((value: unknown) => unknown)[]
  /** What it takes, without `next()`. */
  readonly answer: unknown
  /** `lost`: that is a loss, and reported; `decides`: it is a decision. */
  readonly without: 'lost' | 'decides' | 'nothing'
  /** What happens after a listener that breaks its contract. */
  broken(ran: Ran, strict: boolean): void
}

const NAMED = (seam: string): object => ({ plugin: 'bad', seam })

/** The turn, or its step, ends with an error that names them. */
const ends = (seam: string) => ({ result, made }: Ran): void => {
  expect(result).toMatchObject({ reason: 'error', error: NAMED(seam) })
  expect(made.requests).toHaveLength(0)
}

const reported = ({ made }: Ran, seam: string): void =>
  expect(made.reports.map(({ plugin, seam }) => ({ plugin, seam }))).toContainEqual(NAMED(seam))

const resultOf = ({ log }: Ran, name: string): unknown => {
  const found = eventsOf(log, 'tool/result').find(({ data }) => data.message.content[0].name === name)
  return found?.data.outcome
}

const denied = (seam: string, tool: string) => (ran: Ran): void => {
  expect(ran.result.reason).toBe('done')
  expect(resultOf(ran, tool)).toBe('denied')
  reported(ran, seam)
}

export const SEAMS: readonly Seam[] = [
  {
    seam: 'agent/prompt-submit',
    deadline: true,
    answer: {},
    without: 'decides',
    broken: ends('agent/prompt-submit'),
    places: [
      (value) => ({ input: value }),
      (value) => ({ additionalContext: value }),
      (value) => ({ additionalContext: [value] }),
      (value) => ({ additionalContext: [{ key: 'k', content: value }] }),
    ],
  },
  {
    seam: 'agent/pre-step',
    deadline: false,
    answer: 'go',
    without: 'decides',
    broken: ends('agent/pre-step'),
    places: [(value) => value, (value) => ({ stop: value })],
  },
  {
    seam: 'agent/session-prefix',
    deadline: true,
    answer: ['mine'],
    without: 'lost',
    broken: ends('agent/session-prefix'),
    places: [
      (value) => value,
      (value) => [value],
      (value) => [{ role: 'system', content: value }],
      (value) => [{ role: 'user', content: [{ type: 'text', text: value }] }],
    ],
  },
  {
    seam: 'agent/request',
    deadline: true,
    answer: { model: 'scripted/model', temperature: 0.5 },
    without: 'lost',
    broken: ends('agent/request'),
    places: [
      (value) => value,
      (value) => ({ model: value }),
      (value) => ({ model: 'scripted/model', temperature: value }),
    ],
  },
  {
    seam: 'agent/request-messages',
    deadline: true,
    answer: { before: ['mine'], after: [] },
    without: 'lost',
    broken: ends('agent/request-messages'),
    places: [
      (value) => value,
      (value) => ({ before: value, after: [] }),
      (value) => ({ before: [], after: [value] }),
      (value) => ({ before: [{ role: 'system', content: [value] }], after: [] }),
    ],
  },
  {
    seam: 'agent/request-error',
    deadline: false,
    answer: 'fail',
    without: 'nothing',
    places: [
      (value) => value,
      (value) => ({ retry: value }),
      (value) => ({ retry: { config: value } }),
      (value) => ({ retry: { config: { model: value } } }),
    ],
    broken(ran) {
      expect(ran.result).toMatchObject({
        reason: 'error',
        error: { code: 'MODEL_FAILED', failure: { kind: 'rate-limit' } },
      })
      reported(ran, 'agent/request-error')
    },
  },
  {
    seam: 'tools/pre-execute',
    deadline: true,
    answer: 'allow',
    without: 'decides',
    broken: denied('tools/pre-execute', 'look'),
    places: [(value) => value, (value) => ({ deny: value }), (value) => ({ ask: value })],
  },
  {
    seam: 'tools/ask',
    deadline: false,
    answer: 'allow',
    without: 'decides',
    broken: denied('tools/ask', 'ask'),
    places: [(value) => value, (value) => ({ deny: value })],
  },
  {
    seam: 'tools/execute',
    deadline: true,
    answer: 'mine',
    without: 'decides',
    places: [
      (value) => value,
      (value) => [value],
      (value) => ({ content: value, error: true }),
      (value) => [{ type: 'text', text: value }],
    ],
    broken(ran) {
      expect(ran.result.reason).toBe('done')
      expect(resultOf(ran, 'look')).toBe('error')
      reported(ran, 'tools/execute')
    },
  },
  {
    seam: 'tools/post-execute',
    deadline: true,
    answer: {},
    without: 'lost',
    places: [
      (value) => ({ outcome: value, additionalContext: ['x'] }),
      (value) => ({ outcome: { content: value } }),
      (value) => ({ additionalContext: value }),
      (value) => ({ additionalContext: [value] }),
    ],
    broken(ran, strict) {
      expect(resultOf(ran, 'look')).toBe('done')
      if (strict) expect(ran.result).toMatchObject({ reason: 'error', error: NAMED('tools/post-execute') })
      else expect(ran.result.reason).toBe('done')
      if (!strict) reported(ran, 'tools/post-execute')
    },
  },
  {
    seam: 'compaction/keep',
    deadline: true,
    answer: ['mine'],
    without: 'lost',
    places: [
      (value) => value,
      (value) => [value],
      (value) => [{ key: 'k', content: value }],
      (value) => [{ key: value, content: 'x' }],
    ],
    broken(ran) {
      expectPassed(ran)
      expect(eventsOf(ran.log, 'surface/replace').at(-1)!.data.messages.map(({ owner }) => owner)).toContain('good/k')
      reported(ran, 'compaction/keep')
    },
  },
]

/** Those whose listeners are told something, and asked nothing. */
export const WATCHED = ['agent/turn-stopping', 'session/event', 'agent/report'] as const

/** The turn went on as if nothing had been there. */
export function expectPassed({ result, log }: Ran): void {
  expect(result).toMatchObject({ reason: 'done', text: 'Done.' })
  expect(eventsOf(log, 'tool/result').map(({ data }) => data.outcome)).toEqual(['done', 'done'])
}
