/** A moment at which a child is killed, and kills itself, but for `time`, where its parent does. */
export type Point =
  | { readonly at: 'append'; readonly when: 'before' | 'after'; readonly type: string; readonly nth: number }
  | { readonly at: 'flush'; readonly when: 'before' | 'after'; readonly nth: number }
  /** Half of the bytes of a write have reached the file. */
  | { readonly at: 'write'; readonly nth: number }
  /** While an append runs, by another thread, so many microseconds after it began. */
  | { readonly at: 'inside'; readonly nth: number; readonly wait: number }
  | { readonly at: 'tool'; readonly nth: number }
  | { readonly at: 'chunk'; readonly nth: number }
  /** So many milliseconds after its session was there. */
  | { readonly at: 'time'; readonly wait: number }

/** What a whole run of the same work, without a kill, had of each. */
export interface Course {
  /** How often each type of event was appended. */
  readonly types: Readonly<Record<string, number>>
  readonly appends: number
  readonly flushes: number
  readonly writes: number
  readonly tools: number
  readonly chunks: number
  readonly requests: number
  /** Milliseconds from its session to its end. */
  readonly time: number
}

/**
 * Points for so many kills: before and after every type of event, some of each other kind, then random ones of all kinds.
 *
 * @param random gives a number from 0 to 1, and may be seeded
 */
export function pointsOf(course: Course, kills: number, random: () => number): readonly Point[] {
  const upTo = (most: number): number => 1 + Math.floor(random() * most)
  const when = (): 'before' | 'after' => (random() < 0.5 ? 'before' : 'after')
  const types = Object.keys(course.types)
  const around = types.flatMap((type) => (['before', 'after'] as const).map((when): Point => ({ at: 'append', when, type, nth: 1 })))
  const kinds: readonly (() => Point)[] = [
    () => ({ at: 'time', wait: random() * course.time }),
    ...(course.writes > 0 ? [(): Point => ({ at: 'write', nth: upTo(course.writes) })] : []),
    () => ({ at: 'inside', nth: upTo(course.appends), wait: random() * 200 }),
    () => ({ at: 'tool', nth: upTo(course.tools) }),
    () => ({ at: 'chunk', nth: upTo(course.chunks) }),
    () => ({ at: 'flush', when: when(), nth: upTo(course.flushes) }),
    () => {
      const type = types[upTo(types.length) - 1]!
      return { at: 'append', when: when(), type, nth: upTo(course.types[type]!) }
    },
  ]
  return Array.from(
    { length: Math.max(kills, around.length) },
    (_, index) => around[index] ?? kinds[(index - around.length) % kinds.length]!(),
  )
}
