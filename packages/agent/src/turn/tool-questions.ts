import { type Json, copyJson } from '@headrace/message'
import type { CallRef, Question } from '@headrace/session'
import { AgentError, CancelledError } from '../contract/error.ts'
import type { InputQuestion } from '../contract/question.ts'
import { cancelled } from '../seams/dispatch.ts'
import type { Countdown } from '../seams/countdown.ts'
import { isPlainObject, strayKey } from '../seams/guards.ts'
import { abortController } from '../seams/timer.ts'
import type { TurnHost } from './host.ts'

/** What a running call asks the person: `run.ask()`. Its questions end with it. */
export class ToolQuestions {
  private readonly host: Pick<TurnHost, 'session' | 'questions'>
  private readonly call: CallRef
  /** Of the tool. */
  private readonly signal: AbortSignal
  private readonly asking = new Set<AbortController>()
  private over = false

  constructor(host: Pick<TurnHost, 'session' | 'questions'>, call: CallRef, signal: AbortSignal) {
    this.host = host
    this.call = call
    this.signal = signal
  }

  /** @throws AgentError, CancelledError, StoreError */
  async ask(input: InputQuestion, clock: Countdown | undefined): Promise<Json> {
    const question = this.questionOf(input)
    if (this.over) throw new CancelledError('the call has ended; nobody waits for an answer')
    if (this.signal.aborted) throw cancelled(this.signal)
    if (!this.host.questions.isAttended()) throw new AgentError('NOBODY_THERE', 'there is nobody here to answer a question')
    const asking = abortController()
    const stop = (): void => asking.abort(cancelled(this.signal))
    this.signal.addEventListener('abort', stop, { once: true })
    this.asking.add(asking)
    const goOn = clock?.pause()
    try {
      const { answer } = await this.host.questions.ask(question, asking.signal, ({ answered }) => answered)
      // What a tool acts on is in the log, also after a power cut.
      await this.host.session.flush()
      return answer
    } finally {
      goOn?.()
      this.asking.delete(asking)
      this.signal.removeEventListener('abort', stop)
    }
  }

  /** What it still asks is not waited for. */
  end(): void {
    this.over = true
    for (const asking of this.asking) asking.abort(new CancelledError('the call has ended'))
  }

  private questionOf(input: InputQuestion): Question {
    const isOne = isPlainObject(input) && typeof input.question === 'string' && input.question.trim() !== ''
    if (!isOne || strayKey(input, 'question', 'options', 'schema') !== undefined) throw new AgentError('QUESTION_INVALID', 'ask takes { question, options?, schema? }, and the question is a text that is not blank')
    const { question, options, schema } = copyJson(input, 'question')
    if (options !== undefined) checkOptions(options)
    return { ...this.call, kind: 'input', question, ...(options && { options }), ...(schema && { schema }) }
  }
}

/** What is remembered allows calls: a tool's question is about a value, and offers none of that. @throws AgentError */
function checkOptions(options: unknown): void {
  const areSome = Array.isArray(options) && options.every((option) => isPlainObject(option) && 'answer' in option
    && strayKey(option, 'answer', 'label') === undefined && ['string', 'undefined'].includes(typeof option.label))
  if (!areSome) throw new AgentError('QUESTION_INVALID', 'the options of a question that a tool asks are a list of { answer, label? }')
}
