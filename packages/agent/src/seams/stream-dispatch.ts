import { type Chunk, isA } from '@headrace/message'
import { describe } from './decision-rule.ts'
import { ModelError, SeamError } from '../contract/error.ts'
import { disown } from './guards.ts'
import { type Hook, pluginOfHook } from './listener-owner.ts'
import { problemOf } from './report.ts'

const seam = 'llm/stream'

/**
 * `llm/stream`: nested streams; synchronous, since only the stream is awaited. Errors from inner streams pass unchanged; a
 * listener that throws itself, when called or while streaming, is named.
 */
export function dispatchStream(
  hooks: readonly Hook[],
  args: (plugin: string) => readonly unknown[],
  inner: () => AsyncIterable<Chunk>,
): AsyncIterable<Chunk> {
  const enter = (index: number): AsyncIterable<Chunk> => {
    const hook = hooks[index]
    if (!hook) return inner()
    const plugin = pluginOfHook(hook)
    const passing = new Set<unknown>()
    let called = false
    const next = (): AsyncIterable<Chunk> => {
      if (called) throw new SeamError(plugin, seam, 'it called next() twice')
      called = true
      return guarded(
        () => enter(index + 1),
        (error) => {
          passing.add(error)
          return error
        },
      )
    }
    const open = (): AsyncIterable<Chunk> => {
      const stream: unknown = hook.callback.apply(null, [...args(plugin), next])
      if (typeof stream === 'object' && stream !== null && Symbol.asyncIterator in stream)
        return stream as AsyncIterable<Chunk>
      disown(stream)
      throw new SeamError(plugin, seam, `returned ${describe(stream)}, not an async iterable`)
    }
    const told = (error: unknown): boolean => passing.has(error) || isA(error, ModelError) || isA(error, SeamError)
    return guarded(open, (error) =>
      told(error) ? error : new SeamError(plugin, seam, problemOf(error), { cause: error }),
    )
  }
  return enter(0)
}

/** A stream whose errors, when opened or later, are mapped by `name`. */
function guarded(open: () => AsyncIterable<Chunk>, name: (error: unknown) => unknown): AsyncIterable<Chunk> {
  const attempt = <T>(act: () => T): T => {
    try {
      return act()
    } catch (error) {
      throw name(error)
    }
  }
  const stream = attempt(open)
  return {
    [Symbol.asyncIterator]() {
      const iterator = attempt(() => stream[Symbol.asyncIterator]())
      return {
        async next() {
          try {
            return await iterator.next()
          } catch (error) {
            throw name(error)
          }
        },
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}
