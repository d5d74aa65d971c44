import { type Json, type Owner, messageOf, sameJson } from '@headrace/message'
import type { Answered, CallRef, OpenQuestion, Question, Session, SessionEvent } from '@headrace/session'
import { AgentError } from '../contract/error.ts'
import type { PermissionAnswer } from '../contract/question.ts'
import { cancelled } from '../seams/dispatch.ts'
import { hasString, strayKey } from '../seams/guards.ts'
import type { Attendance } from './attendance.ts'
import type { LetterOf, Letters } from './letters.ts'
import { toAnswerSchema } from './parameters.ts'

/** An answer on its way into the log. */
export interface GivenAnswer {
  readonly answer: Json
  readonly by: Owner
  readonly remember?: Json | undefined
  /** The letter it came by. */
  readonly letter?: string
}

/** What an agent's questions need. */
export interface QuestionsOptions {
  readonly session: Session
  readonly attendance: Attendance
  /** Called when the first of some questions is asked, to let limits stand still. The calls it returns end that when none is open. */
  readonly hold: () => readonly ((() => void) | undefined)[]
  /** Taken while a question waits. */
  readonly letters: Letters
}

/** An asked question that is waited for. */
export interface AskedQuestion {
  readonly seq: number
  /** The answer that is in the log; rejects where `signal` is aborted before. */
  readonly answered: Promise<Answered>
}

/** The questions of one agent that wait for a person: each is an event, and so is its answer; the first in the log counts (L21). */
export class Questions {
  private readonly session: Session
  private readonly options: QuestionsOptions
  private readonly waiting = new Map<number, (answer: Answered) => void>()
  private held: ReturnType<QuestionsOptions['hold']> = []
  private ignoreLetters: (() => void) | undefined

  constructor(options: QuestionsOptions) {
    this.options = options
    this.session = options.session
  }

  /** Those that wait for an answer, in the order they were asked. */
  get open(): readonly OpenQuestion[] {
    return this.session.ledger.questions
  }

  /** True where somebody can be asked; with a plugin, where that one is a door. */
  isAttended(plugin?: string): boolean {
    return this.options.attendance.has(this.session.id, plugin)
  }

  /**
   * Writes a question down and calls `use` with it; until that is over the question waits. It is durable before anybody is waited for.
   *
   * @throws what `use` throws; StoreError
   */
  async ask<T>(question: Question, signal: AbortSignal, use: (asked: AskedQuestion) => Promise<T>): Promise<T> {
    const { session } = this
    if (question.schema) toAnswerSchema(question.schema)
    // An answer that was posted before the question was asked is none, however well it guessed its seq.
    await this.options.letters.look()
    if (signal.aborted) throw cancelled(signal)
    // A listener may answer in the frame of the append, so the wait begins in front of it.
    const seq = session.length
    let tell!: (answer: Answered) => void
    let giveUp!: () => void
    const answered = new Promise<Answered>((resolve, reject) => {
      tell = resolve
      giveUp = () => reject(cancelled(signal))
    })
    answered.catch(() => undefined)
    signal.addEventListener('abort', giveUp, { once: true })
    this.begin(seq, tell)
    try {
      session.append({ type: 'question/asked', data: question })
      await session.flush()
      return await use({ seq, answered })
    } finally {
      signal.removeEventListener('abort', giveUp)
      this.end(seq)
    }
  }

  /**
   * Puts an answer into the log. Durable when the session is flushed.
   *
   * @throws AgentError where the question is closed or the answer is none of it
   */
  answer(seq: number, given: GivenAnswer): SessionEvent<'question/answered'> {
    const { session } = this
    const question = this.open.find((open) => open.seq === seq)
    if (!question) throw new AgentError('QUESTION_CLOSED', closedText(session, seq))
    checkAnswer(question, given)
    const { answer, by, remember, letter } = given
    const data: Answered = {
      question: seq, answer, by, ...(remember !== undefined && { remember }), ...(letter !== undefined && { letter }),
    }
    const event = session.append<'question/answered'>({ type: 'question/answered', data })
    this.waiting.get(seq)?.(event.data)
    return event
  }

  private begin(seq: number, tell: (answer: Answered) => void): void {
    if (this.waiting.size === 0) {
      this.held = this.options.hold()
      this.ignoreLetters = this.options.letters.listen()
    }
    this.waiting.set(seq, tell)
  }

  private end(seq: number): void {
    this.waiting.delete(seq)
    if (this.waiting.size > 0) return
    for (const release of this.held) release?.()
    this.ignoreLetters?.()
  }

  /** Takes an answer that came by a letter. @throws AgentError where it cannot count */
  take({ id, question, answer, remember }: LetterOf<'answer'>): void {
    this.answer(question, { answer, by: 'user', remember, letter: id })
  }
}

/** @throws AgentError */
function checkAnswer({ seq, kind, options = [], schema }: OpenQuestion, { answer, remember }: GivenAnswer): void {
  if (kind === 'permission') permissionOf(answer)
  else if (schema && answer !== null) {
    try {
      toAnswerSchema(schema).parse(answer)
    } catch (error) {
      throw new AgentError('ANSWER_INVALID', `the answer does not fit question ${seq}: ${messageOf(error)}`, { cause: error })
    }
  }
  // Else more could be remembered than was shown.
  const offered = remember === undefined
    || options.some((option) => option.remember !== undefined && sameJson(option.remember, remember) && sameJson(option.answer, answer))
  if (!offered) throw new AgentError('ANSWER_INVALID', `question ${seq} offers nothing of that kind to be remembered with this answer`)
}

/** What a permission's answer says. @throws AgentError for any other JSON */
export function permissionOf(answer: Json): Exclude<PermissionAnswer, 'deny'> {
  if (answer === 'allow') return answer
  if (answer === 'deny') return { deny: 'the user said no' }
  if (hasString(answer, 'deny') && strayKey(answer, 'deny') === undefined) return answer
  throw new AgentError('ANSWER_INVALID', 'a permission is answered with "allow", "deny" or { deny: "why" }')
}

const CLOSED: Readonly<Record<string, string>> = {
  'not-started': 'its call was not started',
  'unknown': 'it was asked by a call that was interrupted, and whose outcome is unknown',
  'denied': 'its call was denied',
}

/** Why a question is not open, from the log. */
function closedText(session: Session, seq: number): string {
  const asked = session.at(seq)
  if (asked?.type !== 'question/asked') return `event ${seq} is no question`
  for (const event of session.events(seq)) {
    if (event.type === 'question/answered' && event.data.question === seq) return `question ${seq} was answered by ${event.data.by} already`
    if (event.type === 'tool/result' && isOf(event.data, asked.data)) return `question ${seq} is closed: ${CLOSED[event.data.outcome] ?? 'its call has ended'}`
  }
  return `question ${seq} is closed`
}

function isOf(a: CallRef, b: CallRef): boolean {
  return a.assistant === b.assistant && a.index === b.index
}
