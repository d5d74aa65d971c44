import { setTimeout as wait } from 'node:timers/promises'
import { type Agent, ModelError } from '@headrace/agent'
import { type Failure, callsOf, isA, messageOf, textOf } from '@headrace/message'
import { INSTRUCTION } from './instruction.ts'

/** Options of a request for a summary. */
export interface Asking {
  readonly tokens: number
  readonly attempts: number
  readonly delay: number
  /** Of the turn that waits for it. */
  readonly signal?: AbortSignal | undefined
}

/** A summary, or why there is none. */
export type Summary =
  | { readonly summary: string; readonly problem?: undefined }
  | { readonly problem: string; readonly summary?: undefined }

/** Failures that may pass; the same kinds as for retried requests. */
const PASSING: ReadonlySet<Failure['kind']> = new Set(['rate-limit', 'server', 'network', 'timeout'])
/** The longest wait for a summary. */
const LONGEST = 60_000

/** Asks the model for a summary on the warm cache; retries like other requests. */
export async function summarise(agent: Agent, { tokens, attempts, delay, signal }: Asking): Promise<Summary> {
  let problem = ''
  for (let attempt = 1; attempt <= attempts; attempt++) {
    let pause = delay * 2 ** (attempt - 1)
    try {
      const options = { purpose: 'summary', config: { maxOutputTokens: tokens }, ...(signal && { signal }) }
      const { message, finish } = await agent.ask([{ role: 'user', content: INSTRUCTION }], options)
      const summary = textOf(message).trim()
      if (summary !== '' && finish !== 'refusal' && callsOf(message).length === 0) return { summary }
      problem = summary === '' ? `the model gave no summary (${finish})` : `the summary was not finished (${finish})`
      pause = 0
    } catch (error) {
      problem = messageOf(error)
      if (signal?.aborted) throw error
      const failure = isA(error, ModelError) ? error.failure : undefined
      if (failure && !PASSING.has(failure.kind)) return { problem }
      pause = failure?.retryAfter ?? pause
    }
    if (attempt < attempts && pause > 0) await wait(Math.min(pause, LONGEST), undefined, signal && { signal })
  }
  return { problem }
}
