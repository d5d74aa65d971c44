import type { Digest, Usage } from '@headrace/message'
import type { Countable, TokenCounter } from './counter.ts'
import { type ModelLookup, modelInfo } from './models.ts'
import { type BudgetTerms, OverflowError } from './overflow.ts'
import { type ModelProfile, type Profiles, profileFinder } from './profile.ts'
import { type ContextWeight, type WeighableContext, toolScale, weighContext } from './weight.ts'

/** A request whose model is known. */
export type Budgetable = Countable & Required<Pick<Countable, 'config'>>

/** Whether a request fits, and by what terms. */
export type BudgetDecision =
  | { readonly fits: true; readonly terms: BudgetTerms }
  | { readonly fits: false; readonly terms: BudgetTerms; readonly error: OverflowError }

/**
 * Says whether a request fits its model before it is sent.
 *
 * ```ts
 * const budget = new RequestBudget({ counter, profiles: { 'deepseek/*': { window: 128_000 } } })
 * const decision = budget.check(request, budget.weigh(context))
 * if (!decision.fits) throw decision.error
 * ```
 */
export class RequestBudget {
  readonly #counter: TokenCounter
  readonly #counters: ReadonlySet<TokenCounter>
  readonly #find: ReturnType<typeof profileFinder>
  readonly #weighTools: ReturnType<typeof toolScale>

  /** @throws ProfileError */
  constructor(options: {
    /** The loop's counter: for contexts and tools, before a model is chosen, and for the conversation where a profile has none. */
    readonly counter: TokenCounter
    readonly profiles?: Profiles
  }) {
    const { counter, profiles = {} } = options
    this.#counter = counter
    this.#counters = new Set([counter, ...Object.values(profiles).flatMap((profile) => profile.counter ?? [])])
    this.#find = profileFinder(profiles)
    this.#weighTools = toolScale((text) => counter.countText(text))
  }

  /** The profile of `provider/model`, its counter filled in; a window that none tells is the one that is known of the model. */
  profileFor(model: string, known: ModelLookup = modelInfo): Required<ModelProfile> {
    return { counter: this.#counter, ...this.#find(model, known(model)?.context) }
  }

  /** Counts the context of a run, once: pass the result to every {@link check} of that run. */
  weigh(context: WeighableContext): ContextWeight {
    return weighContext(this.#counter, context)
  }

  /**
   * Decides by the profile of the request's own config; a substitute is tried with `{ ...request, config: substitute }`. An agent
   * gives what its app knows of models.
   */
  check(request: Budgetable, context?: ContextWeight, known?: ModelLookup): BudgetDecision {
    const model = modelOf(request)
    const { window, completionReserve, safetyMargin: margin, counter } = this.profileFor(model, known)
    const reserve = request.config.maxOutputTokens ?? completionReserve
    const count = counter.countRequest(request, { tools: this.#weighTools(request.tools), ...context && { context } })
    const free = window - reserve - margin - count.total
    const terms: BudgetTerms = Object.freeze({ window, reserve, margin, ...count, free })
    return free >= 0 ? { fits: true, terms } : { fits: false, terms, error: new OverflowError(model, terms) }
  }

  /** Forwards billed usage to the counter of the request's model. */
  recordUsage(request: Budgetable, usage: Usage, options?: { readonly contextDigest?: Digest }): void {
    this.profileFor(modelOf(request)).counter.recordUsage(request, usage, options)
  }

  /** Makes every counter forget its billed usage. */
  invalidate(reason: string): void {
    for (const counter of this.#counters) counter.invalidate(reason)
  }
}

function modelOf({ config }: Budgetable): string {
  return config.model
}
