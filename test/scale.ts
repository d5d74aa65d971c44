// How much a run does of what is exhaustive: `npm test` a share, `npm run test:exhaustive` all of it, and more with HEADRACE_LONG=1.

const extent = process.env.HEADRACE_LONG === '1' ? 'long' : process.env.HEADRACE_EXHAUSTIVE === '1' ? 'all' : 'share'

/** How many: in `npm test`, in the exhaustive run, in a long one. */
export function amount(share: number, all: number, long = all): number {
  return { share, all, long }[extent]
}

/** All of them, or in `npm test` so many, spread over the whole list. */
export function some<T>(items: readonly T[], share: number): readonly T[] {
  if (extent !== 'share' || share >= items.length) return items
  return Array.from({ length: share }, (_, index) => items[Math.floor((index * items.length) / share)]!)
}

/** Of what is random; HEADRACE_SEED gives that of a run that failed. */
export const seed = Number(process.env.HEADRACE_SEED ?? Math.floor(Math.random() * 2 ** 31))

/** A number from 0 to 1, the same ones in the same order for the same seed. The seed is printed. */
export function seeded(): () => number {
  console.info(`HEADRACE_SEED=${seed}`)
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296
  }
}
