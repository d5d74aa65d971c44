import { type Json, messageOf } from '@headrace/message'
import type { QuestionOption } from '@headrace/session'
import { AgentError, CancelledError, SeamError } from '../contract/error.ts'
import type { CallDecision, Permission, ToolCall } from '../contract/tool.ts'
import type { Turn } from '../contract/turn.ts'
import { describe } from '../seams/decision-rule.ts'
import { cancelled, orCancelled } from '../seams/dispatch.ts'
import { disown } from '../seams/guards.ts'
import { type Decided, NOBODY } from '../seams/decided.ts'
import { abortController, startTimer } from '../seams/timer.ts'
import { ownerOf } from '../seams/owner.ts'
import type { TurnHost } from './host.ts'
import { type AskedQuestion, permissionOf } from './questions.ts'
import type { ToolEntry } from './tool-registry.ts'

/** What judging a call needs of its agent. */
export type JudgeHost = Pick<TurnHost, 'session' | 'settings' | 'seams' | 'reporter' | 'questions' | 'view'>

const OPTIONS: readonly QuestionOption[] = [{ answer: 'allow' }, { answer: 'deny' }]

/**
 * Whether a call may run: what plugins, rules and the person say of it. What lets a call through that its tool asks for is on record: an
 * answer, or the rule or option that decided (L21).
 *
 * @param assistant the seq of the message that has the call
 * @throws CancelledError; StoreError
 */
export async function judgeCall(
  host: JudgeHost, turn: Turn, assistant: number, call: ToolCall, entry: ToolEntry, input: unknown,
): Promise<Permission> {
  let asks: Promise<CallDecision> | undefined
  const own = (): Promise<CallDecision> => (asks ??= ownDecision(host, turn, call, entry, input))
  const note = (rule: string, decision: string): void => {
    host.session.append({ type: 'approval/decided', data: { assistant, index: call.index, rule, decision } })
  }
  try {
    const { decision, by, over } = await host.seams.preExecute(turn, call, own)
    if (decision === 'allow') {
      // A listener that did not call next() decided alone.
      if (by !== undefined && (over || entry.definition.ask) && (over || await own() !== 'allow')) note(ownerOf(by, 'tools/pre-execute'), 'allow')
      return decision
    }
    if ('allow' in decision) {
      note(ownerOf(by!, decision.allow), 'allow')
      return 'allow'
    }
    const said = 'deny' in decision ? 'deny' : 'ask'
    if (by !== undefined && decision.rule !== undefined) note(ownerOf(by, decision.rule), said)
    return 'deny' in decision ? { deny: decision.deny } : await askPerson(host, turn, assistant, call, decision)
  } catch (error) {
    if (turn.signal.aborted) throw cancelled(turn.signal)
    host.reporter.failed(error, 'tools/pre-execute')
    return { deny: `what decides on it failed (${messageOf(error)})` }
  }
}

/** Asks whoever is there; without anybody, and without a listener that answers, the call is denied. */
async function askPerson(
  host: JudgeHost, turn: Turn, assistant: number, call: ToolCall, { ask, options = OPTIONS }: Extract<CallDecision, { ask: string }>,
): Promise<Permission> {
  const { questions, seams } = host
  if (!questions.isAttended() && seams.listeners('tools/ask').length === 0) return NOBODY
  const question = { assistant, index: call.index, kind: 'permission', question: ask, options } as const
  return questions.ask(question, turn.signal, (asked) => settle(host, turn, call, ask, asked))
}

/** Waits for the person and for the listeners of `tools/ask`; the first answer in the log counts, and only a denial can be added to it. */
async function settle(host: JudgeHost, turn: Turn, call: ToolCall, question: string, asked: AskedQuestion): Promise<Permission> {
  const { questions, seams } = host
  const over = abortController()
  const stop = (): void => over.abort(turn.signal.reason)
  turn.signal.addEventListener('abort', stop, { once: true })
  let entered = false
  let answer: Json | undefined
  const person = asked.answered.then((answered) => {
    answer = answered.answer
    // A listener that does not wait for the person is not waited for.
    if (!entered) over.abort(new CancelledError('the question was answered'))
    return permissionOf(answered.answer)
  })
  person.catch(() => undefined)
  const inner = async (): Promise<Decided<Permission>> => {
    entered = true
    return { decision: questions.isAttended() ? await person : NOBODY, by: undefined, over: false }
  }
  try {
    const decided = await seams.ask(turn, call, question, over.signal, inner)
    if (answer === undefined && decided.by !== undefined) {
      questions.answer(asked.seq, { answer: decided.decision, by: ownerOf(decided.by, 'ask') })
    }
    return answer === undefined || decided.decision !== 'allow' ? decided.decision : permissionOf(answer)
  } catch (error) {
    if (answer === undefined || turn.signal.aborted || entered) throw error
    return permissionOf(answer)
  } finally {
    turn.signal.removeEventListener('abort', stop)
  }
}

/** What the tool itself says of a call. @throws SeamError that names its plugin, whichever listener waits for it */
async function ownDecision(
  host: JudgeHost, turn: Turn, call: ToolCall, { definition: { ask }, plugin }: ToolEntry, input: unknown,
): Promise<CallDecision> {
  if (ask === undefined || ask === false) return 'allow'
  if (ask === true) return Object.freeze({ ask: `Run ${call.name}?` })
  try {
    const given = ask(input as never, { agent: host.view(plugin), turn, call })
    const question: unknown = await inTime(host.settings.seamTimeout, turn.signal, given)
    if (question === undefined) return 'allow'
    disown(question)
    if (typeof question !== 'string') throw new TypeError(`it gave ${describe(question)}, not a question`)
    return Object.freeze({ ask: question.toWellFormed() })
  } catch (error) {
    throw new SeamError(plugin, 'tools/pre-execute', `ask of ${call.name}: ${messageOf(error)}`, { cause: error })
  }
}

/** Making a question is bounded by the time that a listener has. */
async function inTime<T>(limit: number, signal: AbortSignal, question: T | Promise<T>): Promise<T> {
  if (!(question instanceof Promise)) return question
  const late = abortController()
  const stop = (): void => late.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  const timer = startTimer(limit, () => late.abort(new AgentError('ASK_LATE', `it did not finish within ${limit} ms`)))
  try {
    return await orCancelled(late.signal, question)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}
