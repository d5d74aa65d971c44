import type { Entry } from './surface.ts'

/** A turn of the history: its number, and the seq of its `turn/start`. */
export interface StandingTurn {
  readonly turn: number
  readonly seq: number
}

/** The surface at the beginning of a turn. Cheap: it shares the surface's array, which only grows. */
interface TurnPoint extends StandingTurn {
  readonly entries: readonly Entry[]
  readonly length: number
  /** The turn that stood before it. */
  readonly previous: TurnPoint | undefined
}

/** The points that a rewind can go back to, one per turn, and which turns still stand. */
export class TurnPoints {
  /** By turn number, from 1. */
  private readonly points: TurnPoint[] = []
  private newest: TurnPoint | undefined

  /** Notes the beginning of a turn. */
  begin(seq: number, turn: number, entries: readonly Entry[]): void {
    this.newest = { turn, seq, entries, length: entries.length, previous: this.newest }
    this.points[turn - 1] = this.newest
  }

  /** The number of the newest turn that began; 0 where none did. */
  get length(): number {
    return this.points.length
  }

  /** Goes back to where a turn began. Returns the entries of that time; `undefined` where there is no such turn. */
  back(turn: number): Entry[] | undefined {
    const point = this.points[turn - 1]
    if (!point) return undefined
    this.newest = point.previous
    return point.entries.slice(0, point.length)
  }

  /** Turns that no rewind took back, in order. */
  get standing(): readonly StandingTurn[] {
    const turns: StandingTurn[] = []
    for (let point = this.newest; point; point = point.previous) turns.push({ turn: point.turn, seq: point.seq })
    return turns.reverse()
  }
}
