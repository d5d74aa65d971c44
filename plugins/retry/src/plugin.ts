import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from 'cordis'
import z from 'schemastery'
import type { Agent, ErrorDecision, Step, Turn } from '@headrace/agent'
import { strict } from '@headrace/config'
import { type Failure, defined } from '@headrace/message'
import type {} from '@headrace/session'

export const name = 'retry'
export const inject = ['agents']

/** Config of the plugin. */
export interface Config {
  /** Attempts of a step on its own model, the first one included. */
  readonly attempts: number
  /** Retries of a turn, all steps together. */
  readonly perTurn: number
  /** Milliseconds before the first retry; doubled for each one after it, give or take half. */
  readonly base: number
  /** Milliseconds to wait at most. If a provider asks for more, the model is not retried. */
  readonly most: number
  /** `provider/name`, tried in this order when the step's own model has failed for good. Each lasts for its step. */
  readonly substitutes: readonly string[]
}

export const Config: z<Partial<Config>, Config> = strict(z.object({
  attempts: z.natural().min(1).default(4),
  perTurn: z.natural().default(20),
  base: z.natural().min(1).default(1_000),
  most: z.natural().min(1).default(60_000),
  substitutes: z.array(z.string()).default([]),
})) as unknown as z<Partial<Config>, Config>

declare module '@headrace/session' {
  interface EventMap {
    /** A failed attempt that is made again: after how many milliseconds, and with which substitute. Never surface. */
    'retry/again': { readonly turn: number; readonly step: number; readonly attempt: number; readonly kind: Failure['kind']; readonly delay: number; readonly substitute?: string }
  }
}

/** Temporary failures. */
const PASSING: ReadonlySet<Failure['kind']> = new Set(['rate-limit', 'server', 'network', 'timeout'])

/** What a turn has used up. */
interface Spent {
  retries: number
  /** An overflow was answered by a new step, in which compaction runs; this is done once. */
  restepped: boolean
}

/** Answers failed attempts: waits and tries again, tries another model, or makes the step anew where the request was too large. */
export async function apply(ctx: Context, config: Config): Promise<void> {
  const turns = new WeakMap<Turn, Spent>()
  ctx.on('agent/request-error', async (agent, turn, step, failure, next) => {
    const spent = turns.get(turn) ?? { retries: 0, restepped: false }
    turns.set(turn, spent)
    if (failure.kind === 'overflow' && !spent.restepped) {
      spent.restepped = true
      return 'restep'
    }
    return (await again(agent, turn, step, failure, config, spent)) ?? next()
  })
}

async function again(
  agent: Agent,
  turn: Turn,
  step: Step,
  failure: Failure,
  config: Config,
  spent: Spent,
): Promise<ErrorDecision | undefined> {
  if (failure.kind === 'aborted' || spent.retries >= config.perTurn) return undefined
  const delay =
    PASSING.has(failure.kind) && step.attempt < config.attempts ? delayOf(step.attempt, failure, config) : undefined
  const substitute = delay === undefined ? nextSubstitute(agent, config) : undefined
  if (delay === undefined && substitute === undefined) return undefined
  spent.retries++
  agent.session.append({
    type: 'retry/again',
    data: defined({
      turn: turn.number,
      step: step.number,
      attempt: step.attempt,
      kind: failure.kind,
      delay: delay ?? 0,
      substitute,
    }),
  })
  if (substitute !== undefined) return { retry: { config: { model: substitute } } }
  await sleep(delay, undefined, { signal: turn.signal })
  return 'retry'
}

/** What the provider asks for, else doubled each time, give or take half; `undefined` where that is longer than one waits. */
export function delayOf(attempt: number, { retryAfter }: Pick<Failure, 'retryAfter'>, { base, most }: Pick<Config, 'base' | 'most'>, random = Math.random): number | undefined {
  if (retryAfter !== undefined) return retryAfter <= most ? retryAfter : undefined
  return Math.round(Math.min(most, base * 2 ** (attempt - 1) * (0.5 + random())))
}

/** The first substitute that this step has not tried. */
function nextSubstitute(agent: Agent, { substitutes }: Config): string | undefined {
  const tried = new Set<string>()
  for (let seq = agent.session.length - 1; seq >= agent.session.first; seq--) {
    const event = agent.session.at(seq)
    if (event?.type === 'step/start') break
    if (event?.type === 'retry/again' && event.data.substitute !== undefined) tried.add(event.data.substitute)
  }
  return substitutes.find((model) => !tried.has(model))
}
