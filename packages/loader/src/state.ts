import type { Fiber } from 'cordis'
import { type NotRunning, whyNotRunning } from '@headrace/cordis'
import { messageOf, nearest } from '@headrace/message'

/** Why a plugin does not run, in words; nothing where it does. */
export function whyNot(fiber: Fiber): string | undefined {
  const why = whyNotRunning(fiber)
  return why && wordsFor(why)
}

function wordsFor(why: NotRunning): string {
  switch (why.kind) {
    case 'waits': return waitsFor(why.services, why.provided)
    case 'failed': return `failed${why.part ? ` in its part ${why.part.name}` : ''}: ${problemOf(why.error)}`
    case 'loading': return 'did not come to an end of loading'
    case 'unloaded': return 'was unloaded'
  }
}

export function waitsFor(services: readonly string[], provided: readonly string[]): string {
  return `waits for the service ${services.join(', ')}, which nobody provides${services.map((service) => nearest(service, provided)).join('')}`
}

/** Cordis' own error of a config, of a part that the plugin loads, holds the schema's words, and those may quote the value. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error && error.name === 'ValidationError')) return messageOf(error)
  const [, path] = /\(at ([\w.-]+)\)$/.exec(error.message) ?? []
  return `the config of a part of it does not fit${path === undefined ? '' : `, at ${path}`}`
}

/** Waits, but not longer than that; false where it took longer. What it throws is told by the fiber's state. */
export async function within(limit: number, promise: PromiseLike<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limit)
  })
  return Promise.race([Promise.resolve(promise).then(() => true as const, () => true as const), late]).finally(() => clearTimeout(timer))
}
