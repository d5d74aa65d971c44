import { setImmediate } from 'node:timers/promises'
import { isObject } from '../seams/guards.ts'
import { cancelled } from '../seams/dispatch.ts'
import type { ToolJson, ToolOutput } from '../contract/tool.ts'

/** After so many states in a row others come to their turn: what yields without waiting must not hold the process. */
const IN_A_ROW = 100

type Yielding = AsyncGenerator<ToolJson, ToolOutput, void>

/** What a tool came to: where it is an `async *execute`, what it returns in the end; what it yields is shown. */
export async function drive(output: ToolOutput | Yielding, signal: AbortSignal, show: (state: ToolJson) => void): Promise<ToolOutput> {
  if (!isYielding(output)) return output
  try {
    for (let count = 1; ; count++) {
      const { done, value } = await output.next()
      if (done) return value
      show(value)
      if (count % IN_A_ROW === 0) await setImmediate()
      if (signal.aborted) throw cancelled(signal)
    }
  } finally {
    // Not awaited: a generator that never settles must not block the turn.
    output.return(undefined).then(undefined, () => undefined)
  }
}

function isYielding(output: unknown): output is Yielding {
  return isObject(output) && Symbol.asyncIterator in output && typeof output.next === 'function' && typeof output.return === 'function'
}
