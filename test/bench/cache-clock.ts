const { Date: RealDate } = globalThis

/** Has it be another time, for as long as some work takes; time then stands still, and moves where it is told to. */
export async function atTime<T>(start: string, work: (move: (to: string) => void) => Promise<T>): Promise<T> {
  let now = RealDate.parse(start)
  globalThis.Date = class extends RealDate {
    constructor(value: number | string | Date = now) {
      super(value)
    }

    static override now(): number {
      return now
    }
  } as DateConstructor
  try {
    return await work((to) => void (now = RealDate.parse(to)))
  } finally {
    globalThis.Date = RealDate
  }
}
