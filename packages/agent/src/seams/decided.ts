import { copyJson } from '@headrace/message'
import type { QuestionOption } from '@headrace/session'
import type { CallDecision, Permission } from '../contract/tool.ts'
import { describe } from './decision-rule.ts'
import type { SeamRule } from './dispatch.ts'
import { isObject } from './guards.ts'
import { pluginOfHook } from './listener-owner.ts'

/** A decision and the plugin that made it; none where the tool itself, or nobody, said so. */
export interface Decided<T> {
  readonly decision: T
  readonly by: string | undefined
  /** It allows what others would have asked for. */
  readonly over: boolean
}

/** Why a call is denied that is asked for where nobody is. */
export const NOBODY_SAID = 'it needs a permission, and there is nobody here to give it'

/** What becomes of a question where nobody is. */
export const NOBODY: Permission = Object.freeze({ deny: NOBODY_SAID })

/** `tools/pre-execute`. What says two things is the stricter of them. */
export const callRule = signedRule<CallDecision>("'allow', { allow }, { deny } or { ask }", (returned) => {
  if (returned === 'allow') return returned
  if (!isObject(returned)) return undefined
  // Read once: what was judged is what counts.
  const { deny, ask, allow, rule, options } = returned
  const by = typeof rule === 'string' ? { rule: rule.toWellFormed() } : {}
  if (typeof deny === 'string') return { deny: deny.toWellFormed(), ...by }
  if (typeof ask === 'string') return { ask: ask.toWellFormed(), ...by, ...(options !== undefined && { options: copyJson(options as readonly QuestionOption[], 'options') }) }
  return typeof allow === 'string' ? { allow: allow.toWellFormed() } : undefined
})

/** `tools/ask`. */
export const permissionRule = signedRule<Permission>("'allow' or { deny }", (returned) => {
  if (returned === 'allow') return returned
  const { deny } = isObject(returned) ? returned : {}
  return typeof deny === 'string' ? { deny: deny.toWellFormed() } : undefined
})

/** The outermost listener decides, and signs for it. */
function signedRule<T extends CallDecision>(expected: string, read: (value: unknown) => T | undefined): SeamRule<Decided<T>> {
  return {
    show: ({ decision }) => decision,
    async accept(returned, from, below, called) {
      const decision = read(returned)
      if (decision === undefined) throw new TypeError(`returned ${describe(returned)}, not ${expected}`)
      const theirs: CallDecision = called ? (await below()).decision : 'allow'
      const over = decision === 'allow' && typeof theirs === 'object' && 'ask' in theirs
      return { decision: typeof decision === 'object' ? Object.freeze(decision) : decision, by: pluginOfHook(from), over }
    },
  }
}
