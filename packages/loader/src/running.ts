import { type Context, type Fiber, Inject, type Plugin } from 'cordis'
import {
  type NotRunning, isActive, isBelow, isFailed, movingPart, renamed, servicesOf, sortListeners, whyNotRunning,
} from '@headrace/cordis'
import { messageOf, nearest } from '@headrace/message'
import { within } from './modules.ts'
import { type Plan, type Wanted, signedBy } from './plan.ts'
import type { Problem } from './problem.ts'

interface Run {
  readonly plan: Plan
  readonly fiber: Fiber
}

/** The started entries, by id. A new version that does not run is replaced by the one that ran. */
export class RunningEntries {
  private readonly ctx: Context
  /** Milliseconds that an entry may take to load or unload. */
  private readonly timeout: number
  private readonly changed: (id: string, message: string) => Promise<void>
  private readonly runs = new Map<string, Run>()

  constructor(ctx: Context, timeout: number, changed: (id: string, message: string) => Promise<void>) {
    this.ctx = ctx
    this.timeout = timeout
    this.changed = changed
  }

  /** In the order of the file. */
  all(): readonly Run[] {
    return [...this.runs.values()]
  }

  ids(): readonly string[] {
    return [...this.runs.keys()]
  }

  /** Applies a plan; entries that cannot be loaded stay as they are. Returns the problems of what does not run. */
  async realise({ order, plans }: Wanted): Promise<readonly Problem[]> {
    const sound = new Set<string>()
    for (const { plan: { entry }, fiber } of this.all()) if (whyNot(fiber) === undefined) sound.add(entry.id)
    for (const id of [...this.ids()].reverse()) {
      if (order.includes(id)) continue
      await this.remove(id)
      await this.changed(id, 'removed')
    }
    const problems = await this.bring(plans, sound)
    this.sort(order)
    return [...problems, ...await this.problems(new Set(problems.map(({ entry }) => entry)))]
  }

  /** Loads entries one by one. `sound`: ids of entries that ran before. */
  private async bring(plans: readonly Plan[], sound: ReadonlySet<string>): Promise<readonly Problem[]> {
    const problems: Problem[] = []
    // An entry that lacks a service is retried after the others, which may provide it; meanwhile its old version runs on.
    let left = plans
    for (let before = Infinity; left.length > 0 && left.length < before;) {
      before = left.length
      const later: Plan[] = []
      for (const plan of left) {
        if (this.lacking(plan).length > 0) later.push(plan)
        else problems.push(...await this.bringOne(plan, sound.has(plan.entry.id)))
      }
      if (later.length > 0) await this.settle(this.all())
      left = later
    }
    for (const plan of left) {
      if (isActive(this.runs.get(plan.entry.id)!.fiber)) problems.push(plan.entry.problem(`its new version ${waitsFor(this.lacking(plan), servicesOf(this.ctx))}; the one before runs on`))
      else problems.push(...await this.bringOne(plan, false))
    }
    return problems
  }

  /** Services that the new version of an entry waits for, and that nobody provides now. */
  private lacking(plan: Plan): readonly string[] {
    const now = this.runs.get(plan.entry.id)
    if (!now || isSame(now.plan, plan)) return []
    return Object.keys(Inject.resolve(plan.plugin.inject)).filter((service) => (this.ctx.get(service) as unknown) === undefined)
  }

  /** Loads, reloads or updates one entry, or leaves it alone. */
  private async bringOne(plan: Plan, ran: boolean): Promise<readonly Problem[]> {
    const { id } = plan.entry
    const now = this.runs.get(id)
    if (!now) {
      await this.load(plan)
      await this.changed(id, 'loaded')
      return []
    }
    if (isSame(now.plan, plan) && !isFailed(now.fiber)) {
      this.runs.set(id, { ...now, plan })
      return []
    }
    const samePlugin = now.plan.plugin === plan.plugin
    const run = samePlugin ? await this.update(now.fiber, plan) : await this.replace(plan)
    const why = ran ? await this.whyNot(run) : undefined
    if (why === undefined) {
      await this.changed(id, samePlugin ? 'updated' : 'reloaded')
      return []
    }
    // Not an update: a fiber that is still loading would never get to it.
    const back = await this.whyNot(await this.replace(now.plan)) === undefined
    return [plan.entry.problem(`its new version ${why}; the one before ${back ? 'runs again' : 'does not run any more'}`)]
  }

  private async whyNot(run: Run): Promise<string | undefined> {
    await this.settle([run])
    return whyNot(run.fiber)
  }

  private async load(plan: Plan): Promise<Run> {
    const made = this.ctx.plugin(namedPlugin(plan) as Plugin<unknown>, copyOf(plan.config))
    // What `ctx.plugin` gives is a copy that can be awaited.
    const run = { plan, fiber: made.ctx.fiber }
    this.runs.set(plan.entry.id, run)
    await within(this.timeout, made)
    return run
  }

  private async update(fiber: Fiber, plan: Plan): Promise<Run> {
    const run = { plan, fiber }
    this.runs.set(plan.entry.id, run)
    await within(this.timeout, Promise.resolve(fiber.update(copyOf(plan.config))))
    return run
  }

  private async replace(plan: Plan): Promise<Run> {
    await this.remove(plan.entry.id)
    return this.load(plan)
  }

  async remove(id: string): Promise<void> {
    const { fiber } = this.runs.get(id)!
    this.runs.delete(id)
    await within(this.timeout, fiber.dispose())
  }

  /** Sorts the entries and their listeners in the order of the file. */
  private sort(order: readonly string[]): void {
    const sorted = [...this.runs].sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
    this.runs.clear()
    for (const [id, run] of sorted) this.runs.set(id, run)
    // As after a fresh boot: a reloaded entry would be last otherwise, and the order of nested listeners matters.
    sortListeners(this.ctx, (ctx) => {
      const rank = sorted.findIndex(([, { fiber }]) => ctx.fiber === fiber || isBelow(ctx.fiber, fiber))
      return rank < 0 ? undefined : rank
    })
  }

  /** Waits until nothing is loading (a late service may start more), then returns what does not run, without what was reported already. */
  private async problems(told: ReadonlySet<string | undefined>): Promise<readonly Problem[]> {
    const all = this.all()
    await this.settle(all)
    const problems: Problem[] = []
    for (const { plan: { entry }, fiber } of all) {
      const why = told.has(entry.id) ? undefined : whyNot(fiber)
      if (why !== undefined) problems.push(entry.problem(why))
    }
    return problems
  }

  private async settle(runs: readonly Run[]): Promise<void> {
    const until = performance.now() + this.timeout
    const moving = (): Fiber | undefined => runs.map(({ fiber }) => movingPart(fiber)).find((fiber) => fiber !== undefined)
    for (let fiber = moving(); fiber && performance.now() < until; fiber = moving()) await within(until - performance.now(), fiber.await())
  }
}

function isSame(a: Plan, b: Plan): boolean {
  return a.plugin === b.plugin && JSON.stringify(a.config) === JSON.stringify(b.config)
}

/** A plugin's schema may change what it is given. */
function copyOf(config: unknown): unknown {
  return structuredClone(config)
}

/** An entry whose id is its plugin's name and a word, `git-branch:work`, runs and signs under that. */
function namedPlugin({ entry, plugin }: Plan): Plugin {
  return signedBy(entry.id, plugin) ? renamed(plugin, entry.id) : plugin
}

// --- Why an entry does not run ---

/** Why a plugin does not run, in words; `undefined` where it runs. */
function whyNot(fiber: Fiber): string | undefined {
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

function waitsFor(services: readonly string[], provided: readonly string[]): string {
  return `waits for the service ${services.join(', ')}, which nobody provides${services.map((service) => nearest(service, provided)).join('')}`
}

/** Rewrites Cordis' own error about the config of a nested plugin: it contains the schema's message, which may quote the value. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error && error.name === 'ValidationError')) return messageOf(error)
  const [, path] = /\(at ([\w.-]+)\)$/.exec(error.message) ?? []
  return `the config of a part of it does not fit${path === undefined ? '' : `, at ${path}`}`
}
