import { cacheSection } from './cache-report.ts'
import type { Figure, Figures } from './measure.ts'
import { shown, table } from './table.ts'

/** What `docs/performance.json` holds: figures of one run, and where it ran. */
export interface Performance {
  readonly date: string
  readonly node: string
  readonly machine: string
  /** Load average when it began and when it ended: what else ran. */
  readonly load: readonly [start: number, end: number]
  /** What a reader must know of this run beside; written in by hand. */
  readonly note?: string
  readonly figures: Figures
}

interface Ratio {
  readonly title: string
  readonly of: string
  readonly to: string
  /** Promised, and kept. */
  readonly goal?: number
}

/** The ratios that are promised, and some that are only told. */
export const RATIOS: readonly Ratio[] = [
  { title: 'a step at 10,000 messages, to one at 100', of: 'step-10000', to: 'step-100', goal: 1.5 },
  { title: 'a step at 1,000 messages, to one at 100', of: 'step-1000', to: 'step-100', goal: 1.5 },
  { title: 'a step with the strict check, to one without, at 100 messages', of: 'step-strict-100', to: 'step-100', goal: 2 },
  { title: 'a step with the strict check, to one without, at 10,000 messages', of: 'step-strict-10000', to: 'step-10000', goal: 2 },
  { title: 'opening a log, to `JSON.parse` of its lines', of: 'open', to: 'open-parse', goal: 2 },
  { title: 'resuming an agent, to `JSON.parse` of the lines of its log', of: 'resume', to: 'open-parse' },
  { title: 'a delta through the loop, to the same read by `for await`', of: 'delta', to: 'delta-bare' },
  { title: 'tokens at full price with facts in history, to the ideal, in blocks of 64', of: 'cache-block-history-full', to: 'cache-block-ideal-full', goal: 1.02 },
  { title: 'the same in whole units', of: 'cache-unit-history-full', to: 'cache-unit-ideal-full', goal: 1.02 },
  { title: 'the same with breakpoints', of: 'cache-breakpoint-history-full', to: 'cache-breakpoint-ideal-full', goal: 1.02 },
  { title: 'the same in blocks of 64, to the ideal with bare facts', of: 'cache-block-history-full', to: 'cache-block-bare-full', goal: 1.02 },
  { title: 'a step with every context plugin, to one with store-jsonl alone', of: 'context-step', to: 'context-step-bare', goal: 1.3 },
  { title: 'the same where nobody waits for the disk (`fsync: \'never\'`)', of: 'context-unsynced', to: 'context-unsynced-bare' },
  { title: 'a step with 200 tools of an MCP server, to one with 10', of: 'mcp-tools-200', to: 'mcp-tools-10', goal: 1.2 },
]

/** What is promised in a unit. */
export const LIMITS: readonly { readonly of: string; readonly most: number }[] = [
  { of: 'many-first', most: 1_000 },
  { of: 'many-last', most: 1_000 },
  { of: 'skills-first', most: 50 },
  { of: 'skills-next', most: 50 },
]

/** In the place of a figure that came after the run. */
const NOT_YET = 'not measured yet'

const GROUPS: readonly (readonly [title: string, text: string, prefixes: readonly string[]])[] = [
  ['A step of the loop', 'All that a step costs without its model: the seams, the log, the digests and the tool\'s call. A turn of 50 steps in a session of the given length; each step calls one tool that gives 200 characters, three listeners stand at the seams, and `after` says something else each time.', ['step']],
  ['Context plugins', 'A turn of 50 steps at 1,000 messages, in a repository with nested AGENTS.md and thirty skills, where nothing changes: with agents-md, skills, environment and briefing, and without them. A step with them reads no file; it looks once at each file that is watched (at skills once a turn, and behind calls that may have changed one): the faster the disk under the log, the more of a step that is.', ['context']],
  ['2,000 skills', 'The longest time for which nothing else could run on the event loop, on the clock: what other programs do is in it. Promised are at most 50 ms.', ['skills']],
  ['Tools of an MCP server', 'A turn of 50 steps with so many tools in each request, on a scripted model in the same process: what the loop costs, without what a network takes for their bytes. The tools\' digest is taken once, where they change.', ['mcp']],
  ['Streaming', 'Chunks of one answer are not logged one by one; each reaches the turn\'s handle and the session\'s live listeners.', ['delta']],
  ['The log', '', ['append', 'open', 'resume', 'verify', 'rebuild', 'bytes']],
  ['One append, acknowledged', 'An append and its flush, one after another: what a caller waits until the event is as safe as the policy says.', ['latency']],
  ['100,000 sessions', 'The command from its start; its store has a hundred thousand sessions, two hundred of them of this folder. Lists read cards, never logs. Promised is a second until the first line.', ['many']],
  ['Compaction', 'The model\'s own time is not in it.', ['compaction']],
  ['The command', '', ['boot']],
  ['Idle agents', '', ['idle']],
  ['The machine', 'Divide by it to compare two machines.', ['yardstick']],
]

/** `docs/performance.md`. */
export function report({ date, node, machine, load, note, figures }: Performance): string {
  const groups = GROUPS.map(([title, text, prefixes]) => {
    const rows = Object.entries(figures).filter(([key]) => prefixes.includes(key.split('-')[0]!)).map(([, figure]) => row(figure))
    return [`## ${title}`, ...(text === '' ? [] : [text]), rows.length === 0 ? NOT_YET : table(['measure', 'median', 'spread', 'least', 'samples'], rows)].join('\n\n')
  })
  const ratios = RATIOS.map(({ title, of, to, goal }) => {
    if (!figures[of] || !figures[to]) return [title, NOT_YET, goal === undefined ? '' : `at most ${goal}`]
    const ratio = ratioOf(figures, of, to)
    return [title, ratio.toFixed(goal === 1.02 ? 3 : 2), goal === undefined ? '' : `at most ${goal}`]
  })
  return [
    '# Performance',
    '<!-- Made from performance.json by `npm run bench:report`; `npm run bench` measures anew. -->',
    `Medians of one run of \`npm run bench\` on ${date}: Node.js ${node}, ${machine}. Load average ${load.map((value) => value.toFixed(1)).join(' at its beginning, ')} at its end. The spread is the median of the distances from the median. Samples of all measures of a group alternate, so that what slows the machine down for a while slows all of them.${note === undefined ? '' : ` ${note}`}`,
    `## Ratios\n\n${table(['ratio', 'measured', 'goal'], ratios)}`,
    cacheSection(figures),
    ...groups,
  ].join('\n\n') + '\n'
}

export function ratioOf(figures: Figures, of: string, to: string): number {
  return figures[of]!.median / figures[to]!.median
}

function row({ title, unit, median, mad, min, samples }: Figure): readonly string[] {
  return [title, shown(median, unit), `± ${shown(mad, unit)}`, shown(min, unit), `${samples}`]
}
