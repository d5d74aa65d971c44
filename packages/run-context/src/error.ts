import { HeadraceError } from '@headrace/message'

/** Codes of a `RunContextError`. */
export type RunContextErrorCode =
  | 'CONTEXT_OPTIONS_INVALID'
  | 'CONTEXT_OPTION_UNKNOWN'
  | 'CONTEXT_LIST_INVALID'
  | 'CONTEXT_BARE_PAIR'
  | 'CONTEXT_ENTRY_INVALID'
  | 'CONTEXT_KEY_INVALID'
  | 'CONTEXT_VALUE_INVALID'
  | 'CONTEXT_NOT_WELL_FORMED'

/** The position of a refused value: its argument, its index in the list, its key. */
export interface Place {
  readonly argument: string
  readonly index?: number
  readonly key?: string
}

/** A refused argument: a `TypeError` with a stable `code` and the position. The message names types, never values. */
export class RunContextError extends TypeError implements Place {
  readonly code: RunContextErrorCode
  readonly argument: string
  declare readonly index?: number
  declare readonly key?: string

  constructor(code: RunContextErrorCode, place: Place, problem: string) {
    super(`${placeOf(place)} ${problem}`)
    this.name = 'RunContextError'
    this.code = code
    this.argument = place.argument
    if (place.index !== undefined) this.index = place.index
    if (place.key !== undefined) this.key = place.key
  }
}

/** `facts[2] ("date")`; JSON makes a blank, a newline or a lone surrogate in a key visible. */
function placeOf({ argument, index, key }: Place): string {
  return argument + (index === undefined ? '' : `[${index}]`) + (key === undefined ? '' : ` (${JSON.stringify(key)})`)
}

/** Codes of a `ContextEventError`. */
export type ContextEventErrorCode = 'CONTEXT_EVENT_INVALID' | 'CONTEXT_TEMPLATE_UNKNOWN' | 'CONTEXT_BODY_MISSING' | 'CONTEXT_DIGEST_MISMATCH'

/** A logged context that cannot be rendered again as it was. */
export class ContextEventError extends HeadraceError {
  declare readonly code: ContextEventErrorCode

  constructor(code: ContextEventErrorCode, problem: string, options?: ErrorOptions) {
    super(code, problem, options)
  }
}

/** Codes of an `InstructionsError`. */
export type InstructionsErrorCode = 'INSTRUCTIONS_DANGLING' | 'INSTRUCTIONS_UNREADABLE' | 'INSTRUCTIONS_NOT_UTF8'

/** An instruction file that is there and cannot be told to a model; `path` as it was given. */
export class InstructionsError extends HeadraceError {
  declare readonly code: InstructionsErrorCode
  readonly path: string

  constructor(code: InstructionsErrorCode, path: string, problem: string, options?: ErrorOptions) {
    super(code, `${path} ${problem}`, options)
    this.path = path
  }
}
