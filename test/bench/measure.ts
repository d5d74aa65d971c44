import { Bench, type Statistics } from 'tinybench'

/** One line of the report. */
export interface Measure {
  readonly key: string
  readonly title: string
  readonly unit: 'µs' | 'ms' | 'bytes' | '1/s' | 'tokens'
  /** Prepares, measures once, and gives the value in the unit; what it prepares is not counted. */
  sample(): Promise<number>
}

/** What came out of a measure, in its unit. */
export interface Figure {
  readonly title: string
  readonly unit: Measure['unit']
  readonly median: number
  /** Median of the distances from the median. */
  readonly mad: number
  readonly min: number
  readonly samples: number
}

export type Figures = Readonly<Record<string, Figure>>

/**
 * Takes samples of each measure in turn, so that a machine that slows down for a while slows all of them, and not one.
 *
 * @param samples of each
 */
export async function takeFigures(measures: readonly Measure[], samples: number): Promise<Figures> {
  const bench = new Bench({ iterations: 1, time: 0, warmup: false, retainSamples: true, throws: true })
  for (const { key, sample } of measures) bench.add(key, async () => ({ overriddenDuration: await sample() }))
  const taken = new Map<string, number[]>(measures.map(({ key }) => [key, []]))
  for (let round = -WARMUP; round < samples; round++) {
    for (const task of await bench.run()) {
      const { latency } = task.result as { readonly latency: Statistics }
      if (round >= 0) taken.get(task.name)!.push(...latency.samples!)
    }
    bench.reset()
  }
  return Object.fromEntries(measures.map(({ key, title, unit }) => [key, { title, unit, ...summary(taken.get(key)!) }]))
}

const WARMUP = 2

function summary(values: readonly number[]): Pick<Figure, 'median' | 'mad' | 'min' | 'samples'> {
  const median = medianOf(values)
  return { median, mad: medianOf(values.map((value) => Math.abs(value - median))), min: Math.min(...values), samples: values.length }
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Milliseconds that something takes. */
export async function timed(work: () => unknown): Promise<number> {
  // What came before has its callbacks behind it.
  await new Promise((resolve) => setImmediate(resolve))
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** The same for what makes much garbage in one go: that of what came before is collected first. */
export async function timedAlone(work: () => unknown): Promise<number> {
  await collect()
  return timed(work)
}

/** Collects garbage, where `node --expose-gc` allows; more than once, for abort signals are finalised behind the first. */
export async function collect(): Promise<void> {
  for (let time = 0; time < 3 && globalThis.gc; time++) {
    globalThis.gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
}
