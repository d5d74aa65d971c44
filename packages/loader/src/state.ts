import type { Context, Fiber } from 'cordis'
import { messageOf, nearest } from '@headrace/message'

/** Cordis' states; its own enum is not there for isolated modules. */
const PENDING = 0
const ACTIVE = 2
const FAILED = 3

export function isActive(fiber: Fiber): boolean {
  return (fiber.state as number) === ACTIVE
}

export function isFailed(fiber: Fiber): boolean {
  return (fiber.state as number) === FAILED
}

/** Why a plugin does not run; nothing where it does. A part of it that failed counts, one that waits for a service may. */
export async function whyNot(fiber: Fiber): Promise<string | undefined> {
  if (isFailed(fiber)) return `failed: ${await problemOf(fiber)}`
  if (isActive(fiber)) {
    const part = partsOf(fiber).find(isFailed)
    return part && `failed in its part ${part.name}: ${await problemOf(part)}`
  }
  const missing = Object.keys(fiber.inject).filter((service) => (fiber.ctx.get(service) as unknown) === undefined)
  if ((fiber.state as number) === PENDING && missing.length > 0) return waitsFor(fiber.ctx, missing)
  return 'did not come to an end of loading'
}

export function waitsFor(ctx: Context, services: readonly string[]): string {
  const { store } = ctx.reflect
  // One that is registered by a plugin that does not run is not the one that is meant.
  const provided = Object.getOwnPropertySymbols(store).map((key) => store[key]!.name).filter((name) => !services.includes(name))
  return `waits for the service ${services.join(', ')}, which nobody provides${services.map((service) => nearest(service, provided)).join('')}`
}

async function problemOf(fiber: Fiber): Promise<string> {
  return fiber.await().then(() => 'it does not say why', wordsOf)
}

/** Cordis' own error of a config, of a part that the plugin loads, holds the schema's words, and those may quote the value. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error && error.name === 'ValidationError')) return messageOf(error)
  const [, path] = /\(at ([\w.-]+)\)$/.exec(error.message) ?? []
  return `the config of a part of it does not fit${path === undefined ? '' : `, at ${path}`}`
}

function partsOf(fiber: Fiber): readonly Fiber[] {
  const fibers = [...fiber.ctx.root.registry.values()].flatMap((runtime) => [...runtime.fibers])
  return fibers.filter((other) => isBelow(other, fiber))
}

function isBelow(fiber: Fiber, top: Fiber): boolean {
  for (let above = fiber; above.runtime; above = above.parent.fiber) if (above.parent.fiber === top) return true
  return false
}

/** True while a fiber, or a part of it, is loading or unloading. */
export function movingPart(fiber: Fiber): Fiber | undefined {
  return [fiber, ...partsOf(fiber)].find(({ inertia }) => inertia !== undefined)
}

/** Waits, but not longer than that; false where it took longer. What it throws is told by the fiber's state. */
export async function within(limit: number, promise: PromiseLike<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limit)
  })
  return Promise.race([Promise.resolve(promise).then(() => true as const, () => true as const), late]).finally(() => clearTimeout(timer))
}

