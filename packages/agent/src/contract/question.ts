import type { Json, JsonObject } from '@headrace/message'
import type { QuestionOption } from '@headrace/session'

/** What a running tool asks the person: a question of kind `input`. */
export interface InputQuestion {
  readonly question: string
  /** Answers to choose from; another one counts as well, where the schema allows it. */
  readonly options?: readonly Omit<QuestionOption, 'remember'>[]
  /** JSON Schema of the answer. What does not fit, or takes long to check, is refused where it is given; the question stays open. */
  readonly schema?: JsonObject
}

/** Options of `agent.answer()`. */
export interface AnswerOptions {
  /** What the chosen option is remembered as: the `remember` of an option of the question that has this answer. */
  readonly remember?: Json
}

/** What answers a question of kind `permission`. */
export type PermissionAnswer = 'allow' | 'deny' | { readonly deny: string }
