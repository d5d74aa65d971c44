import type { Context } from 'cordis'
import { isA, messageOf } from '@headrace/message'
import type { Agent } from '../contract/agent.ts'
import type { OverrideNote, Report } from '../contract/events.ts'
import { SeamError } from '../contract/error.ts'
import { type Hook, Hooks, pluginOfHook } from './listener-owner.ts'

/** Most reports in a row that listeners receive. */
const MOST = 1_000

/** Collects what the seams of one agent have to say; in `strict` a lost contribution is an error (L15). */
export class Reporter {
  /** Logs an override (L15). */
  readonly override: (note: OverrideNote) => void
  private readonly ctx: Context
  private readonly agent: string
  private readonly view: (plugin: string) => Agent
  private telling = false
  /** Reports without a pause in which anything else could run. */
  private count = 0
  readonly strict: boolean

  constructor(ctx: Context, agent: string, view: (plugin: string) => Agent, strict: boolean, override: (note: OverrideNote) => void) {
    this.ctx = ctx
    this.agent = agent
    this.view = view
    this.strict = strict
    this.override = override
  }

  report(report: Report): void {
    this.ctx.logger('headrace').warn('plugin %s in %s: %s', report.plugin, report.seam, report.problem)
    // A report caused by a listener of reports goes to Cordis' log only: listeners must not trigger each other forever.
    if (this.telling || !this.counts()) return
    this.telling = true
    Object.freeze(report)
    for (const hook of new Hooks(this.ctx).of('agent/report', this.agent)) emitGuarded([hook], [this.view(pluginOfHook(hook)), report], () => undefined)
    this.telling = false
  }

  /** False once too many reports came without a pause: a listener that reports in a microtask would block the process forever. */
  private counts(): boolean {
    if (this.count === 0) setImmediate(() => (this.count = 0)).unref()
    if (++this.count === MOST + 1) {
      this.ctx.logger('headrace').warn('%d reports without a pause: agent/report is not told of more; a listener of it must not report', MOST)
    }
    return this.count <= MOST
  }

  /** Reports a failure that is then ignored. */
  failed(error: unknown, seam: string): void {
    const what = isA(error, SeamError) ? { plugin: error.plugin, seam: error.seam, problem: error.problem } : { plugin: 'loop', seam, problem: messageOf(error) }
    this.report({ kind: 'failed', ...what })
  }

  /** @throws SeamError in `strict` */
  lost(plugin: string, seam: string, problem: string): void {
    if (this.strict) throw new SeamError(plugin, seam, `${problem}; return what next() gave you too, or say so with override(value, reason)`)
    this.report({ kind: 'lost', plugin, seam, problem: `${problem}; what the others contributed stands` })
  }
}

/** Calls the listeners of an event, each guarded; return values are ignored. */
export function emitGuarded(hooks: readonly Hook[], args: readonly unknown[], failed: (hook: Hook, error: unknown) => void): void {
  for (const hook of [...hooks]) {
    try {
      const result: unknown = hook.callback.apply(null, [...args])
      if (result instanceof Promise) result.catch((error: unknown) => failed(hook, error))
    } catch (error) {
      failed(hook, error)
    }
  }
}

export function problemOf(error: unknown): string {
  return isA(error, SeamError) ? error.problem : `it threw: ${messageOf(error)}`
}
