import type { Context, Fiber } from 'cordis'

/** The fiber that one of a set's fibers is, or is below. */
export function ownerOf(ctx: Context, fibers: ReadonlyMap<Fiber, number>): number | undefined {
  for (let { fiber } = ctx; fiber.runtime; { fiber } = fiber.parent) {
    const index = fibers.get(fiber)
    if (index !== undefined) return index
  }
  return undefined
}

interface Hook {
  readonly ctx: Context
  readonly prepend?: boolean
}

/**
 * Puts the listeners of entries in the order of the file, as a fresh boot has them: what was loaded again would be last otherwise, and
 * where listeners nest the order decides. Others keep their place. This sorts Cordis' own lists; a test pins that they stand there.
 */
export function sortListeners(ctx: Context, fibers: ReadonlyMap<Fiber, number>): void {
  for (const hooks of Object.values(ctx.events._hooks as Record<string, Hook[]>)) {
    for (const prepend of [false, true]) {
      const places: number[] = []
      const mine: { readonly hook: Hook; readonly index: number }[] = []
      for (const [place, hook] of hooks.entries()) {
        const index = (hook.prepend === true) === prepend ? ownerOf(hook.ctx, fibers) : undefined
        if (index === undefined) continue
        places.push(place)
        mine.push({ hook, index })
      }
      // What is prepended last stands first.
      mine.sort((a, b) => (prepend ? b.index - a.index : a.index - b.index))
      for (const [number, { hook }] of mine.entries()) hooks[places[number]!] = hook
    }
  }
}
