import { sha256 } from '@headrace/message'

/** What a provider takes as the id of a call. */
export interface IdRule {
  readonly pattern: RegExp
  /** An id that fits, from 64 hex digits. */
  make(hash: string): string
}

/** OpenAI: at most 40 characters ("string too long. Expected a string with maximum length 40"); Anthropic: `^[a-zA-Z0-9_-]+$`. */
export const COMMON_IDS: IdRule = { pattern: /^[a-zA-Z0-9_-]{1,40}$/, make: (hash) => `call_${hash.slice(0, 32)}` }

/** Mistral: "Tool call id must be a-z, A-Z, 0-9, with a length of 9". */
export const MISTRAL_IDS: IdRule = { pattern: /^[a-zA-Z0-9]{9}$/, make: (hash) => BigInt(`0x${hash}`).toString(36).slice(0, 9).padStart(9, '0') }

/**
 * The ids of one request's calls, one to one: an id that fits stays as it is the first time; others are derived from
 * the id and how often it came before. Later calls do not change earlier ids.
 */
export class CallIds {
  private readonly rule: IdRule
  private readonly taken = new Set<string>()
  private readonly seen = new Map<string, number>()

  constructor(rule: IdRule) {
    this.rule = rule
  }

  /** The id that a call is sent with; one to one. */
  next(id: string): string {
    const before = this.seen.get(id) ?? 0
    this.seen.set(id, before + 1)
    let given = before === 0 && this.rule.pattern.test(id) ? id : this.made(id, before, 0)
    for (let again = 1; this.taken.has(given); again++) given = this.made(id, before, again)
    this.taken.add(given)
    return given
  }

  private made(id: string, before: number, again: number): string {
    return this.rule.make(sha256(JSON.stringify([id, before, again])))
  }
}

/**
 * Names of functions that all providers accept: OpenAI, Anthropic `^[a-zA-Z0-9_-]{1,64}$`; Google requires a letter or
 * `_` first.
 */
const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/

/**
 * A tool's name as it is sent: a model may have called a tool that never existed, by a name that no provider accepts.
 */
export function toolName(name: string): string {
  if (NAME.test(name)) return name
  const fitted = name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^(?![a-zA-Z_])/, '_')
  // Two names must not become one.
  return `${fitted.slice(0, 55)}_${sha256(name).slice(0, 8)}`
}

/** The tool's own name for a name that was sent. */
export function ownName(sent: string, tools: readonly { readonly name: string }[]): string {
  return tools.find(({ name }) => name !== sent && toolName(name) === sent)?.name ?? sent
}
