import { appendFileSync } from 'node:fs'
import { join } from 'node:path'

/** Counts of one suite; a count that a suite tells twice is summed up. */
export type Counts = Readonly<Record<string, number>>

/** One line that a suite told. */
export interface Told {
  readonly suite: string
  readonly part: string
  readonly counts: Counts
}

/** Tells what a suite did, for `docs/reliability.md`: a line in a file in the folder that HEADRACE_FIGURES names; nothing without one. */
export function figure(suite: string, part: string, counts: Counts): void {
  const folder = process.env.HEADRACE_FIGURES
  if (folder) appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify({ suite, part, counts } satisfies Told)}\n`)
}
