import {
  type AssistantMessage, type ContributionInput, type Request, NO_USAGE, copyJson, defined, isA, keyOf, messageOf, resolveModel,
  toConfigPatch, toContribution,
} from '@headrace/message'
import { type Dispatch, assembleRequest, proveRequest } from '@headrace/session'
import type { AskOptions, SideAnswer } from '../contract/agent.ts'
import { AnswerDraft } from './answer.ts'
import { AgentError, ModelError } from '../contract/error.ts'
import { checkOption, checkOptions, namesOf } from '../contract/check-options.ts'
import { ownerOf } from '../seams/owner.ts'
import { pull } from './stream.ts'
import type { Turn } from '../contract/turn.ts'
import type { TurnHost } from './host.ts'

/** What a side request needs of its agent. */
type AskHost = Pick<TurnHost, 'session' | 'seams' | 'llm' | 'blobs' | 'settings' | 'running'>

/** A side request counts for ten appends: it is three events, and somebody pays for it. */
const WEIGHT = 10

const OPTIONS = namesOf<AskOptions>({ purpose: true, config: true, tools: true, signal: true })

/**
 * A request beside the turns: `prefix ++ before ++ surface ++ messages` under the folded header, on the warm cache. It answers nothing
 * that is owed, and stands in the log with its answer.
 *
 * @param plugin who asks; it signs the messages with their key, else with the purpose
 * @throws AgentError before the session's first step; ModelError
 */
export async function ask(
  host: AskHost,
  plugin: string,
  inputs: readonly ContributionInput[],
  options: AskOptions,
  ending: AbortSignal,
): Promise<SideAnswer> {
  checkOptions('agent.ask', options, OPTIONS)
  checkOption('agent.ask', Array.isArray(inputs), 'takes a list of messages')
  checkOption('agent.ask', typeof options.purpose === 'string' && options.purpose !== '', "needs a purpose, in a word: { purpose: 'title' }")
  checkOption('agent.ask', options.tools === undefined || options.tools === 'same' || options.tools === 'none', "has tools: 'same' or 'none'")
  checkOption('agent.ask', options.signal === undefined || isA(options.signal, AbortSignal), 'has a signal that is an AbortSignal')
  const { session } = host
  const { header } = session.headers
  if (!header)
    throw new AgentError(
      'ASK_TOO_EARLY',
      'a side request goes under the header of the last request, and this session has sent none yet; prompt it first',
    )
  const side: Pick<Dispatch, 'messages' | 'config' | 'tools'> = defined({
    messages: inputs.map((input, index) => {
      const at = `messages[${index}]`
      return { message: toContribution(input, at), owner: ownerOf(plugin, keyOf(input, at) ?? options.purpose) }
    }),
    config: options.config === undefined ? undefined : resolveModel(toConfigPatch(options.config, 'config'), header.config.model),
    tools: options.tools === 'none' ? options.tools : undefined,
  })
  session.admit(WEIGHT)
  const history = session.surface.snapshot()
  const turn = host.running?.turn
  const { seq: dispatch, data } = session.append<'request/dispatch'>({
    type: 'request/dispatch',
    data: {
      boundary: session.surface.boundary ?? session.length,
      purpose: options.purpose,
      ...side,
      ...proveRequest(header, session.surface.chain(), copyJson(side)),
    },
  })
  session.checkDispatch({ type: 'request/dispatch', seq: dispatch, time: 0, data })
  await session.flush()
  const signal = AbortSignal.any([ending, turn?.signal, options.signal].filter((one) => one !== undefined))
  const assembled = assembleRequest({ session: session.id, dispatch, header, history, side: data, root: session.root })
  return receive(
    host,
    Object.freeze(Object.defineProperty(assembled, 'signal', { value: signal, enumerable: true }) as Request),
  )
}

async function receive(host: AskHost, request: Request): Promise<SideAnswer> {
  const { session, seams, llm } = host
  const dispatch = request.dispatch!
  const turn: Turn = host.running?.turn ?? Object.freeze({ number: session.ledger.turns, signal: request.signal })
  const draft = new AnswerDraft(dispatch, host.settings.limits.answer)
  let message: AssistantMessage
  try {
    llm.issue(request, host.blobs)
    await pull(seams.stream(turn, request, () => llm.stream(request)), request.signal, (chunk) => void draft.add(chunk))
    if (!draft.finish) throw new ModelError({ kind: 'network', message: 'the answer ended before it was complete' })
    message = draft.message(dispatch, () => undefined)
  } catch (error) {
    const failure = isA(error, ModelError) ? error.failure : { kind: request.signal.aborted ? 'aborted' as const : 'unknown' as const, message: messageOf(error) }
    session.append({ type: 'request/end', data: { dispatch, outcome: request.signal.aborted ? 'aborted' : 'error', ...draft.told, error: failure } })
    throw error
  } finally {
    llm.revoke(request)
  }
  session.append({ type: 'request/end', data: { dispatch, outcome: 'ok', ...draft.told, answer: message } })
  return { message, usage: draft.usage ?? NO_USAGE, finish: draft.finish }
}
