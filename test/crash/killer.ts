import { Worker } from 'node:worker_threads'
import type { Course, Point } from './point.ts'

/** Counts what a run passes, and kills the process at one point of it. */
export class Killer {
  private readonly counts: Record<string, number> = {}
  private readonly point: Point | undefined
  private readonly thread: Int32Array | undefined

  constructor(point: Point | undefined) {
    this.point = point
    if (point?.at === 'inside') this.thread = startThread(point.wait)
  }

  /** One more of something, by the name that a point has for it. */
  count(what: string): number {
    return (this.counts[what] = (this.counts[what] ?? 0) + 1)
  }

  /** Kills the process where this is the point; does not return then. */
  pass(at: 'flush' | 'tool' | 'chunk', nth: number, when?: 'before' | 'after'): void {
    const { point } = this
    if (point?.at === at && point.nth === nth && (point.at !== 'flush' || point.when === when)) kill()
  }

  /** An append of events of these types, each with how many of it there were with this one. */
  append(types: readonly (readonly [type: string, nth: number])[], when: 'before' | 'after'): void {
    const { point } = this
    if (point?.at === 'append' && point.when === when && types.some(([type, nth]) => type === point.type && nth === point.nth)) kill()
  }

  /** An append begins: lets the other thread loose, where it is the one. */
  begin(nth: number): void {
    if (this.point?.at !== 'inside' || this.point.nth !== nth) return
    Atomics.store(this.thread!, 0, 1)
    Atomics.notify(this.thread!, 0)
  }

  isTorn(nth: number): boolean {
    return this.point?.at === 'write' && this.point.nth === nth
  }

  get course(): Omit<Course, 'requests' | 'time'> {
    const { append = 0, flush = 0, write = 0, tool = 0, chunk = 0 } = this.counts
    const types = Object.fromEntries(Object.entries(this.counts).filter(([name]) => /\//.test(name)))
    return { types, appends: append, flushes: flush, writes: write, tools: tool, chunks: chunk }
  }
}

export function kill(): never {
  process.kill(process.pid, 'SIGKILL')
  // The signal may take a moment; nothing must happen in it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10_000)
  throw new Error('still alive')
}

/** A thread that waits for a word, then so many microseconds, then kills the process, whatever the main thread is doing. */
function startThread(wait: number): Int32Array {
  const word = new Int32Array(new SharedArrayBuffer(4))
  const code = `const { workerData: { word, wait } } = require('node:worker_threads')
Atomics.wait(word, 0, 0)
const end = process.hrtime.bigint() + BigInt(Math.round(wait * 1000))
while (process.hrtime.bigint() < end);
process.kill(process.pid, 'SIGKILL')`
  new Worker(code, { eval: true, workerData: { word, wait } }).unref()
  return word
}
