import { type AssistantMessage, type CallConfig, type ContributionInput, type FinishReason, type Request, type Usage, NO_USAGE, copyJson, defined, isA, messageOf, resolveModel, toConfigPatch, toContribution } from '@headrace/message'
import { type Dispatch, assembleRequest, proveRequest } from '@headrace/session'
import { ModelError } from '../contract/adapter.ts'
import { AnswerDraft } from './answer.ts'
import type { AgentCore } from '../life/core.ts'
import { AgentError } from '../contract/error.ts'
import { checkOptions, namesOf } from '../contract/options.ts'
import { pull } from './stream.ts'
import type { Turn } from '../contract/turn.ts'

/** Options of `agent.ask()`. */
export interface AskOptions {
  /** What it is for, in a word: `summary`, `title`. Stands in the log. */
  readonly purpose: string
  /** Fields that differ from the folded config. */
  readonly config?: Partial<CallConfig>
  /** `same` (the default) keeps the provider's cache warm; a call in the answer is not run. */
  readonly tools?: 'same' | 'none'
  readonly signal?: AbortSignal
}

const OPTIONS = namesOf<AskOptions>({ purpose: true, config: true, tools: true, signal: true })

/** What `agent.ask()` resolves with. */
export interface SideAnswer {
  readonly message: AssistantMessage
  readonly usage: Usage
  readonly finish: FinishReason
}

/**
 * A request beside the turns: `prefix ++ before ++ surface ++ messages` under the folded header, on the warm cache. It answers nothing
 * that is owed, and stands in the log with its answer.
 *
 * @throws AgentError before the session's first step; ModelError
 */
export function askAside(core: AgentCore, owner: string, inputs: readonly ContributionInput[], options: AskOptions): Promise<SideAnswer> {
  return core.asides.run((ending) => ask(core, owner, inputs, options, ending))
}

async function ask(core: AgentCore, owner: string, inputs: readonly ContributionInput[], options: AskOptions, ending: AbortSignal): Promise<SideAnswer> {
  checkOptions('agent.ask', options, OPTIONS)
  const { session } = core
  const { header } = session.headers
  if (!header) throw new AgentError('ASK_TOO_EARLY', 'a side request goes under the header of the last request, and this session has sent none yet; prompt it first')
  const side: Pick<Dispatch, 'messages' | 'config' | 'tools'> = defined({
    messages: inputs.map((input, index) => ({ message: toContribution(input, `messages[${index}]`), owner })),
    config: options.config && resolveModel(toConfigPatch(options.config, 'config'), header.config.model),
    tools: options.tools === 'none' ? options.tools : undefined,
  })
  const history = session.surface.snapshot()
  const turn = core.running?.turn
  const { seq: dispatch, data } = session.append<'request/dispatch'>({
    type: 'request/dispatch',
    data: {
      boundary: session.surface.boundary ?? session.length, purpose: options.purpose, ...side,
      ...proveRequest(header, session.surface.chain(), copyJson(side)),
    },
  })
  session.checkDispatch({ type: 'request/dispatch', seq: dispatch, time: 0, data })
  await session.flush()
  const signal = AbortSignal.any([ending, turn?.signal, options.signal].filter((one) => one !== undefined))
  const assembled = assembleRequest({ session: session.id, dispatch, header, history, side: data })
  return receive(core, Object.freeze(Object.defineProperty(assembled, 'signal', { value: signal, enumerable: true }) as Request))
}

async function receive(core: AgentCore, request: Request): Promise<SideAnswer> {
  const { session, seams, llm } = core
  const dispatch = request.dispatch!
  const turn: Turn = core.running?.turn ?? Object.freeze({ number: session.ledger.turns, signal: request.signal })
  const draft = new AnswerDraft(core.settings.limits.answer)
  let message: AssistantMessage
  try {
    llm.issue(request, core.blobs)
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
