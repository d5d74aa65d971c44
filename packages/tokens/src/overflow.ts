import { HeadraceError } from '@headrace/message'
import type { RequestCount } from './counter.ts'

/** What a decision was made of, in tokens: `free = window - reserve - margin - total`. */
export interface BudgetTerms extends RequestCount {
  readonly window: number
  readonly reserve: number
  readonly margin: number
  /** Negative by what is too much. */
  readonly free: number
}

/** A request that its model's window cannot hold; it is not sent. */
export class OverflowError extends HeadraceError {
  /** `provider/model` */
  readonly model: string
  readonly terms: BudgetTerms

  constructor(model: string, terms: BudgetTerms) {
    super('REQUEST_OVERFLOW', describeOverflow(model, terms))
    this.model = model
    this.terms = terms
  }
}

function describeOverflow(model: string, terms: BudgetTerms): string {
  const { window, reserve, margin, system, tools, prefix, before, history, after, context, correction, total, free } = terms
  const parts = `system ${system}, tools ${tools}, prefix ${prefix}, before ${before}, history ${history}, after ${after}, context ${context}, correction ${correction}`
  return `the request to ${model} needs ${-free} tokens more than fit (free ${free}): total ${total} (${parts}), reserve ${reserve} and margin ${margin} `
    + `in a window of ${window}; compact the history, drop what is large, or choose a model with a larger window`
}
