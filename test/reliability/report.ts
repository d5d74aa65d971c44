import type { Counts, Told } from './figures.ts'

/** What `docs/reliability.json` holds: what the suites of one run did, and where it ran. */
export interface Reliability {
  readonly date: string
  readonly node: string
  readonly machine: string
  /** By suite and part. */
  readonly figures: Readonly<Record<string, Readonly<Record<string, Counts>>>>
  /** Tests that passed, by group. */
  readonly tests: Readonly<Record<string, number>>
}

type Figures = Reliability['figures']

interface Promise_ {
  readonly promise: string
  readonly tested: string
  /** Where the tests stand. */
  readonly where: readonly string[]
  /** What the run did; each is at least one, or the page is wrong. */
  told(figures: Figures, tests: Reliability['tests']): readonly (readonly [count: number, what: string])[]
}

const of = (figures: Figures, suite: string, part: string, count: string): number => figures[suite]?.[part]?.[count] ?? 0

const STORES = ['jsonl', 'sqlite'] as const

/** What is promised, short, and how each promise is tried. */
export const PROMISES: readonly Promise_[] = [
  {
    promise: 'What is acknowledged, a kill does not lose (L17): prompts, events that were flushed, requests that left, blobs, ends of turns.',
    tested: 'A real agent over a real socket is killed with SIGKILL before and after every type of event, inside appends, in tools, in streams and at any time, some of them again while they resume. What it had been promised is compared byte for byte; the log verifies; a resume in a new process finishes, with one request more a kill at most.',
    where: ['test/crash/kills.spec.ts'],
    told: (figures) => STORES.flatMap((store) => [[of(figures, 'crash', store, 'kills'), `kills on store-${store}`], [of(figures, 'crash', store, 'acknowledgements'), 'acknowledged flushes, none lost']] as const),
  },
  {
    promise: 'No tool runs twice, and no call is without its result (L16): one that was cut off is told as what it is, not started or unknown.',
    tested: 'Each tool of the killed agents writes down that it runs; each call of their logs has one result.',
    where: ['test/crash/kills.spec.ts', 'test/laws/L16-tool-pairs.spec.ts'],
    told: (figures) => [[STORES.reduce((sum, store) => sum + of(figures, 'crash', store, 'tools'), 0), 'calls that ran under kills, none twice']],
  },
  {
    promise: 'A power cut loses nothing that was acknowledged, on a disk that does what it says.',
    tested: 'The power fails before or inside any operation of the file layer, over a whole run on store-jsonl and its resume; what was not synced is gone, torn, or reads as zeros. store-sqlite has power cuts of its own, below the agent.',
    where: ['test/crash/power-cut.spec.ts', 'plugins/store-jsonl/tests/durability.spec.ts', 'plugins/store-sqlite/tests/durability.spec.ts'],
    told: (figures) => [[of(figures, 'crash', 'power cut', 'cuts'), 'power cuts under store-jsonl'], [of(figures, 'crash', 'power cut', 'acknowledgements'), 'acknowledged flushes, none lost']],
  },
  {
    promise: '`headrace run --continue` finishes what was begun.',
    tested: 'The command itself, built, is killed at random moments of a job, and continued.',
    where: ['test/crash/demo.spec.ts'],
    told: (figures) => [[of(figures, 'crash', 'headrace run', 'kills'), 'kills']],
  },
  {
    promise: 'A cancel ends a turn wherever it stands: the log is balanced, what was streamed is kept, the queue is kept or withdrawn as asked, nothing is left behind.',
    tested: 'A run is cancelled after its k-th event, chunk, flush, seam entry and timer, for every k until it ends uncancelled; handles and timers are counted.',
    where: ['test/cancel/cancel.spec.ts'],
    told: (figures) => [[of(figures, 'cancel', 'everywhere', 'cancels'), 'cancels']],
  },
  {
    promise: 'A plugin that misbehaves harms its turn at most (L15): it is named, the log is sound, the next turn is well.',
    tested: 'Every seam, tool, section, topic, adapter and stream against everything they can do: throw, never end, return what is no JSON, forge, mutate, call next() twice or too late. Listeners, timers and abort listeners are counted.',
    where: ['test/faults/seams.spec.ts', 'test/faults/entries.spec.ts', 'test/faults/streams.spec.ts'],
    told: (figures) => [[['seams', 'entries', 'streams'].reduce((sum, part) => sum + of(figures, 'faults', part, 'faults'), 0), 'faults injected']],
  },
  {
    promise: 'Plugins and services may come and go in the middle of a turn (L19): nothing hangs, and the session goes on when they are back.',
    tested: 'A plugin, its config, the provider, the store, the briefing and each service go at every seam, in a tool and in a stream.',
    where: ['test/faults/departures.spec.ts', 'test/laws/L19-unloading-unloads.spec.ts'],
    told: (figures) => [[of(figures, 'faults', 'departures', 'departures'), 'departures'], [of(figures, 'faults', 'departures', 'parked'), 'turns that a resume went on with']],
  },
  {
    promise: 'A damaged log is refused, or reads as it was written: never as something else.',
    tested: 'Bits are flipped in every byte of a log, in its files and in its events; lines and rows are left out, repeated and moved.',
    where: ['packages/session/tests/flip.spec.ts', 'plugins/store-jsonl/tests/flip.spec.ts', 'plugins/store-sqlite/tests/damage.spec.ts'],
    told: (figures) => [[['events', 'jsonl', 'sqlite'].reduce((sum, part) => sum + of(figures, 'damage', part, 'flips'), 0), 'logs with a flipped byte, none read wrong']],
  },
  {
    promise: 'Hostile input is refused with a clear error: ids that are paths, text with half a character, values that are no JSON, arguments that no tool takes.',
    tested: 'At every border, by hand and by property tests.',
    where: ['packages/message/tests/json.spec.ts', 'packages/message/tests/message.spec.ts', 'packages/session/tests/check.spec.ts', 'packages/agent/tests/well-formed.spec.ts', 'test/laws/adversary.spec.ts'],
    told: (_, tests) => [[tests.hostile ?? 0, 'tests']],
  },
  {
    promise: 'Every store keeps the same contract, with one writer a session across processes (L18).',
    tested: 'One conformance suite, run by every store; locks and leases raced by processes.',
    where: ['packages/testing/src/store-conformance.ts', 'test/laws/L18-one-writer.spec.ts'],
    told: (_, tests) => [[tests.stores ?? 0, 'tests']],
  },
  {
    promise: 'It runs for long: memory and handles stay flat.',
    tested: '200 agents with tools, injects, failing attempts, cancels and plugins that are reloaded all the while; every log is verified. `npm run soak` takes ten minutes.',
    where: ['test/soak/soak.spec.ts'],
    told: (figures) => ['turns', 'cancelled', 'reloads', 'sessions'].map((count) => [of(figures, 'soak', '200 agents', count), count === 'cancelled' ? 'of them cancelled' : count]),
  },
]

/** What a run told, summed up. */
export function sumUp(told: readonly Told[]): Figures {
  const figures: Record<string, Record<string, Record<string, number>>> = {}
  for (const { suite, part, counts } of told) {
    const sums = ((figures[suite] ??= {})[part] ??= {})
    for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count
  }
  return figures
}

/** `docs/reliability.md`. */
export function report({ date, node, machine, figures, tests }: Reliability): string {
  const chapters = PROMISES.map(({ promise, tested, where, told }) => {
    const counts = told(figures, tests).map(([count, what]) => `${count.toLocaleString('en')} ${what}`)
    return [`**${promise}**`, `${tested} ${where.map((path) => `[\`${path}\`](../${path})`).join(', ')}`, `In this run: ${counts.join(', ')}.`].join('\n\n')
  })
  return [
    '# Reliability',
    '<!-- Made from reliability.json by `npm run reliability`, which runs the suites anew. -->',
    `What is promised, how each promise is tried, and what one run of \`npm run reliability\` did on ${date}: Node.js ${node}, ${machine}. A run in which one promise is broken fails, and makes no page. CI runs the same suites; \`npm run crash\` kills 1,000 times a store.`,
    ...chapters,
    '## What is not promised\n\nAgainst somebody who changes a log and recomputes its digests: keep what `headrace verify --digest` prints in another place. Against a disk that says it has synced and has not. Against a plugin that blocks the event loop, or that reaches around its seams into the process it shares.',
  ].join('\n\n') + '\n'
}
