import { type CallConfig, type Json, type JsonObject, type UserMessage, copyJson, digestOf } from '@headrace/message'
import { checkEvent } from '../check.ts'
import { LogError } from '../error.ts'
import { StoreError } from './error.ts'

/** What a person, or a program for one, sends to a session. It is signed `user`; no plugin's view can send one. */
export type LetterDraft =
  | {
      readonly kind: 'prompt'
      readonly input: UserMessage
      /** For the running turn, where one runs. */
      readonly steer?: true
      /** The sender's idempotency key: the same key is taken once. 1 to 200 characters. */
      readonly key?: string
      readonly config?: Partial<CallConfig>
      readonly output?: JsonObject
      readonly context?: Json
    }
  | { readonly kind: 'cancel'; readonly turn: number; readonly reason: string }
  /** Takes back the prompt with this seq, where it still waits. */
  | { readonly kind: 'withdraw'; readonly prompt: number; readonly reason: string }
  | {
      readonly kind: 'answer'
      /** The seq of the `question/asked`. */
      readonly question: number
      readonly answer: Json
      readonly remember?: Json
    }

/** A letter as a store keeps it, until an event names it. */
export type Letter = LetterDraft & {
  /** Given by the store, and never again: not after a removal, an import or a fork. */
  readonly id: string
  /** When it was posted, in milliseconds since the epoch. */
  readonly time: number
}

/** What became of a letter that was posted. */
export interface Posted {
  /** Its id: the key's first letter where the key was known. Absent where the key is that of a prompt which came by no letter. */
  readonly letter?: string
  /** True where a letter or prompt of the same key and content was there: nothing was posted. */
  readonly repeated?: true
  /** The seq of the key's prompt, where the log has it. */
  readonly logged?: number
}

/** A key is that of another content already. */
export class KeyTakenError extends StoreError {
  constructor(id: string, key: string) {
    super(`session ${id}: the key ${JSON.stringify(key.slice(0, 80))} is that of another prompt; use a new key for new content`, { code: 'KEY_TAKEN' })
  }
}

const FIELDS: Readonly<Record<LetterDraft['kind'], ReadonlySet<string>>> = {
  prompt: new Set(['kind', 'input', 'steer', 'key', 'config', 'output', 'context']),
  cancel: new Set(['kind', 'turn', 'reason']),
  withdraw: new Set(['kind', 'prompt', 'reason']),
  answer: new Set(['kind', 'question', 'answer', 'remember']),
}

/**
 * A copy of a letter, after it was checked: what is posted is an event that a log takes.
 *
 * @throws StoreError, JsonError
 */
export function checkLetter(id: string, draft: LetterDraft): LetterDraft {
  const letter = copyJson(draft, 'letter')
  const kind = (letter as { kind?: unknown } | null)?.kind
  const fields = typeof kind === 'string' && Object.hasOwn(FIELDS, kind) ? FIELDS[kind as LetterDraft['kind']] : undefined
  if (!fields) throw invalid(id, `its kind must be ${Object.keys(FIELDS).join(', ')}`)
  const unknown = Object.keys(letter).find((field) => !fields.has(field))
  if (unknown !== undefined) throw invalid(id, `a ${letter.kind} has no field ${JSON.stringify(unknown)}`)
  if (letter.kind === 'prompt') {
    if (letter.key !== undefined && (typeof letter.key !== 'string' || letter.key === '' || letter.key.length > 200)) throw invalid(id, 'its key must be 1 to 200 characters')
    if (letter.steer !== undefined && letter.steer !== true) throw invalid(id, 'steer must be true or absent')
  }
  try {
    checkEvent({ seq: 0, time: 0, ...eventOf(letter) })
  } catch (error) {
    throw error instanceof LogError ? invalid(id, error.message.replace(/^event 0: /, '')) : error
  }
  return letter
}

/** The event that a letter becomes, but for its id. */
function eventOf(letter: LetterDraft): { readonly type: string; readonly data: object } {
  switch (letter.kind) {
    case 'prompt': {
      const { kind: _, ...data } = letter
      return { type: 'prompt/queued', data: { ...data, owner: 'user' } }
    }
    case 'cancel': return { type: 'turn/cancel', data: { turn: count(letter.turn, 'turn'), reason: letter.reason } }
    case 'withdraw': return { type: 'prompt/withdrawn', data: { prompt: count(letter.prompt, 'prompt'), reason: letter.reason } }
    case 'answer': return { type: 'question/answered', data: { question: count(letter.question, 'question'), answer: given(letter.answer), by: 'user' } }
  }
}

function count(value: number, field: string): number {
  if (!Number.isSafeInteger(value) || value < 0) throw new LogError(`${field} must be a whole number`)
  return value
}

function given(answer: Json): Json {
  if (answer === undefined) throw new LogError('it has no answer')
  return answer
}

function invalid(id: string, problem: string): StoreError {
  return new StoreError(`session ${id}: this letter cannot be posted: ${problem}`, { code: 'LETTER_INVALID' })
}

/** The types whose events take the letter that they name. In others, those of plugins, `letter` is a field like any. */
const TAKING: ReadonlySet<string> = new Set(['prompt/queued', 'prompt/withdrawn', 'turn/cancel', 'question/answered', 'letter/refused'])

/** The id of the letter that an event takes. */
export function letterOf({ type, data }: { readonly type: string; readonly data: unknown }): string | undefined {
  if (!TAKING.has(type)) return undefined
  const { letter } = data as { readonly letter?: unknown }
  return typeof letter === 'string' ? letter : undefined
}

/** A prompt with a key: what it asked for. Two with one key are the same where their content is. */
export function contentDigest({
  input,
  config,
  output,
}: {
  readonly input: UserMessage
  readonly config?: object
  readonly output?: object
}): string {
  return digestOf({ input, config: config ?? null, output: output ?? null })
}
