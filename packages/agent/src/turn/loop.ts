import { type AssistantMessage, type Failure, type Request, isA, messageOf, splitModel } from '@headrace/message'
import { type EpochHeader, type ErrorRecord, type EventDraft, type OwnedConfig, type QueuedPrompt, type SessionEvent, type TurnReason, assembleRequest, proveRequest } from '@headrace/session'
import { AnswerDraft } from './answer.ts'
import { CallBatch } from './calls.ts'
import { withFields } from './config-seed.ts'
import { type Boundary, type Framing, compose, frame } from './header.ts'
import { wireOrder } from '../seams/contribution.ts'
import { CancelledError, LimitError, ModelError, ParkedError, SeamError, toRecord } from '../contract/error.ts'
import type { RunningTurn, TurnHost } from './host.ts'
import { settleLoading } from './loading.ts'
import { type Prefix, prefixOf } from './prefix.ts'
import { cancelled } from '../seams/dispatch.ts'
import { checkOutput } from './output.ts'
import { ownConfig, promptOf } from './prompt.ts'
import { pull } from './stream.ts'
import { Countdown } from '../seams/countdown.ts'
import { abortController } from '../seams/timer.ts'
import type { Step, Turn } from '../contract/turn.ts'
import { reportUnknownEvents } from '../seams/unknown-events.ts'

/** The loop. It reads like its picture in the design, top to bottom. */
export class Loop {
  private readonly host: TurnHost
  /** True once this instance has waited for the plugins that were loading when it began. */
  private ready = false

  constructor(host: TurnHost) {
    this.host = host
  }

  /** One turn: from one wake until nothing is owed, or a turn that a resume goes on with. Ends it in the log, whatever happens. */
  async turn(): Promise<void> {
    const { host } = this
    const running = this.startTurn()
    const { limits } = host.settings
    if (limits.time > 0) {
      running.clock = new Countdown(limits.time, () => running.controller.abort(new LimitError('time', limits.time)))
      running.clocks.add(running.clock)
    }
    try {
      await this.answer(running)
    } catch (error) {
      // The step is still open: the log refused its end, and would refuse the turn's too. The driver reports why.
      if (host.session.ledger.turn?.step) throw error
      const [reason, record] = verdict(error)
      const parked: unknown = running.turn.signal.reason
      if (isA(parked, ParkedError)) host.parkTurn(parked)
      else host.endTurn(reason, record)
    } finally {
      running.clock?.stop()
    }
    await host.session.flush()
    host.settleTurn()
  }

  private startTurn(): RunningTurn {
    const { host, host: { session } } = this
    // Left open while the store failed.
    if (session.ledger.turn?.step) session.closeStep('error')
    const open = session.ledger.turn
    const [queued] = session.ledger.queue
    const number = open?.number ?? session.ledger.turns + 1
    const prompt = open ? promptOf(session.at(open.prompt ?? -1)) : queued
    const controller = abortController()
    const turn: Turn = Object.freeze({ number, signal: controller.signal, ...(prompt && { prompt: prompt.input }), ...(open && { continue: true as const }) })
    host.running = { turn, controller, requests: 0, clocks: new Set() }
    host.follow(prompt?.seq)
    if (!open) session.append({ type: 'turn/start', data: { turn: number, woke: queued ? (queued.steer ? 'steer' : 'prompt') : 'message', ...(queued && { prompt: queued.seq }) } })
    return host.running
  }

  private async answer(running: RunningTurn): Promise<void> {
    const { host, host: { session, seams } } = this
    const { turn } = running
    await this.bringContext(running)
    if (!this.ready) await settleLoading(host.root, host.settings.loadTimeout, host.reporter, turn.signal)
    this.ready = true
    reportUnknownEvents(host.root, host.id, host.reporter)
    const { unsubmitted, prompt } = session.ledger.turn!
    if (unsubmitted) {
      const submitted = await this.submit(turn, promptOf(session.at(prompt!))!)
      if (typeof submitted === 'string') return host.endTurn('blocked', { code: 'BLOCKED', message: submitted })
      session.append(submitted)
    }
    // Read from the session each time: a refused append replaces its ledger.
    const waits = (): boolean => session.ledger.owed || session.ledger.queue.some((queued) => queued.steer)
    for (let again = false; again || waits(); ) {
      await this.takeSteers(turn)
      const next = session.ledger.turn!.steps + 1
      if (next > host.settings.limits.steps) throw new LimitError('steps', host.settings.limits.steps)
      const decision = await seams.preStep(turn, Object.freeze({ number: next, attempt: 1, ...(turn.continue && { continue: true as const }) }))
      if (decision !== 'go') return host.endTurn('stopped', { code: 'STOPPED', message: decision.stop })
      again = (await this.step(running, next)) === 'restep'
      const wanted = !again && !waits() && prompt !== undefined ? host.outputOf(prompt) : undefined
      if (wanted) checkOutput(session, wanted)
      // Nothing is owed unless one of these steers: then the loop checks once more, and ends in the frame of that check.
      if (!again && !waits()) await seams.turnStopping(turn)
      if (turn.signal.aborted) throw cancelled(turn.signal)
    }
    host.endTurn('done')
  }

  private async bringContext(running: RunningTurn): Promise<void> {
    const { host } = this
    running.context = await host.contexts.of(running.turn, host.session.ledger.turn!.prompt)
    running.weight = running.context && host.budget?.weigh(running.context)
  }

  /** Runs a prompt through `agent/prompt-submit`. Returns its message and contexts, for one append; or why it was blocked. */
  private async submit(turn: Turn, queued: QueuedPrompt): Promise<string | readonly EventDraft[]> {
    const submitted = await this.host.seams.promptSubmit(turn, Object.freeze({ input: queued.input, steer: queued.steer }))
    if ('block' in submitted) return submitted.block
    const contexts = wireOrder(submitted.contexts).map(({ message, owner }): EventDraft => ({ type: 'context/message', data: { message, owner } }))
    return [{ type: 'user/message', data: { ...(submitted.rewritten ?? { message: queued.input, owner: queued.owner }), prompt: queued.seq } }, ...contexts]
  }

  private async takeSteers(turn: Turn): Promise<void> {
    const { host, host: { session } } = this
    for (const queued of session.ledger.queue) {
      if (!queued.steer || !session.ledger.isQueued(queued.seq)) continue
      const submitted = await this.submit(turn, queued)
      // It may have been taken back meanwhile.
      if (!session.ledger.isQueued(queued.seq)) continue
      if (typeof submitted === 'string') {
        host.withdraw(queued.seq, `blocked: ${submitted}`)
        continue
      }
      host.follow(queued.seq)
      session.append(submitted)
    }
  }

  private async step(running: RunningTurn, number: number): Promise<'done' | 'restep'> {
    const { host, host: { session } } = this
    const { turn } = running
    const at = this.openStep(turn, number)
    try {
      host.header.prefix ??= await this.composePrefix(turn)
      const answered = await this.attempts(running, number, at)
      // The rest of a step, from tools/pre-execute on, is in calls.ts.
      if (answered !== 'restep') await new CallBatch(host, turn, at.tools, answered).run()
      const reason = answered === 'restep' ? 'restep' : 'done'
      session.closeStep(reason, running.weighed)
      return reason
    } catch (error) {
      const [reason, record] = verdict(error)
      if (isA(turn.signal.reason, ParkedError)) session.closeStep('lost', running.weighed)
      else session.closeStep(reason === 'cancelled' ? 'cancelled' : 'error', { ...(record && { error: record }), ...running.weighed })
      throw error
    }
  }

  /** One synchronous frame (L3). */
  private openStep(turn: Turn, step: number): Boundary {
    const { host, host: { session } } = this
    const system = host.system.snapshot(host.view('app'), (plugin) => host.view(plugin))
    const tools = host.tools.snapshot(host.id, session.headers.header?.tools, host.choice)
    // Last: a section may inject while it is read.
    const history = session.surface.snapshot()
    const { seq } = session.append({ type: 'step/start', data: { turn: turn.number, step } })
    host.header.reportLate(host.seams.listeners('agent/session-prefix'))
    return { seq, history, system, tools }
  }

  /** A cancelled or failed composition is discarded (L5). */
  private async composePrefix(turn: Turn): Promise<Prefix> {
    const { seams } = this.host
    const listeners = seams.listeners('agent/session-prefix')
    return prefixOf(await seams.sessionPrefix(turn), listeners)
  }

  /** Attempts of a step, until one is answered: the seq of its `assistant/message`; or until the step is to be made anew. */
  private async attempts(running: RunningTurn, number: number, at: Boundary): Promise<number | 'restep'> {
    const { host, host: { session, seams } } = this
    const { turn } = running
    // A prompt's own config is a substitute for all of its turn: the baseline does not move (L6).
    const own = ownConfig(session)
    const seed = host.header.seed.next(own ? 'wait' : 'take')
    const start = own ? withFields(seed, own.fields, own.owner) : seed
    let framing: Framing | undefined
    let substitute: Partial<OwnedConfig['config']> | undefined
    for (let attempt = 1; ; attempt++) {
      const step: Step = Object.freeze({ number, attempt, boundary: at.seq, ...(turn.continue && { continue: true as const }) })
      const config = await seams.request(turn, step, substitute ? withFields(start, substitute, 'loop') : start)
      framing ??= frame(await seams.requestMessages(turn, step), running.context)
      if (++running.requests > host.settings.limits.requests) throw new LimitError('requests', host.settings.limits.requests)
      const header = compose(at, host.header.prefix!, config, framing)
      const result =
        this.refusal(running, header, at) ??
        (await this.dispatch(
          running,
          step,
          at,
          header,
          (substitute ?? own) && compose(at, host.header.prefix!, seed, framing),
        ))
      if (typeof result === 'number') return result
      const decision = await seams.requestError(turn, step, result)
      if (decision === 'restep') return decision
      if (decision === 'fail') throw new ModelError(result)
      substitute = decision === 'retry' ? undefined : decision.retry.config
    }
  }

  /** Why a request cannot be sent: no such provider, or it does not fit. */
  private refusal(running: RunningTurn, header: EpochHeader, { history }: Boundary): Failure | undefined {
    const { llm, budget, id } = this.host
    const message = llm.refusal(splitModel(header.config.model).provider)
    if (message !== undefined) return { kind: 'invalid', message }
    const decision = budget?.check(assembleRequest({ session: id, dispatch: -1, header, history }), running.weight, llm.info)
    running.weighed = decision ? { budget: { ...decision.terms } } : {}
    return decision?.fits === false ? { kind: 'overflow', message: decision.error.message } : undefined
  }

  /** Writes down what is owed, durably (L8, L17), and sends the request built from the fold (L2). `base` is what a substitute stands in for. */
  private async dispatch(running: RunningTurn, step: Step, at: Boundary, header: EpochHeader, base: EpochHeader | undefined): Promise<number | Failure> {
    const { host, host: { session } } = this
    const { turn } = running
    const substitute = base ? true as const : undefined
    const { anchor } = host.header
    const events = session.append([
      () => host.contexts.owed(turn, running.context),
      // An instance's first header is its own snapshot (L13): where a substitute comes first, the config that it replaces is logged before it.
      () => (base && anchor ? session.headers.owed(base, anchor) : undefined),
      () => session.headers.owed(header, base ? undefined : anchor, substitute),
      (): EventDraft => ({
        type: 'request/dispatch',
        data: {
          turn: turn.number, step: step.number, attempt: step.attempt, boundary: at.seq,
          ...proveRequest(session.headers.header!, session.surface.chain()),
        },
      }),
    ])
    const dispatch = events.at(-1) as SessionEvent<'request/dispatch'>
    host.header.settle()
    // A substitute alone does not log the seed.
    if (!base || anchor) host.header.seed.settle()
    session.checkDispatch(dispatch)
    await session.flush()
    const data = assembleRequest({ session: session.id, dispatch: dispatch.seq, header: session.headers.header!, history: at.history, root: session.root })
    const request: Request = Object.freeze(Object.defineProperty(data, 'signal', { value: turn.signal, enumerable: true }) as Request)
    return this.receive(running, request, at.seq)
  }

  /** Receives the answer. What came before a cancel is kept; what came before a failure is not, since the retry sends it again. */
  private async receive({ turn, context }: RunningTurn, request: Request, boundary: number): Promise<number | Failure> {
    const { host, host: { session, seams, llm } } = this
    const dispatch = request.dispatch!
    const draft = new AnswerDraft(dispatch, host.settings.limits.answer)
    let message: AssistantMessage
    const repaired = (at: string): void => host.reporter.report({ kind: 'repaired', plugin: 'loop', seam: 'llm/stream', problem: `${at} had a lone surrogate; it was replaced` })
    try {
      llm.issue(request, host.blobs)
      await pull(seams.stream(turn, request, () => llm.stream(request)), turn.signal, (given) => {
        const chunk = draft.add(given)
        if (chunk) session.live.emit('chunk', chunk)
        const { piece } = draft
        if (piece) session.live.emit('piece', piece)
      })
      if (!draft.finish) throw new ModelError({ kind: 'network', message: 'the answer ended before it was complete' })
      message = draft.message(boundary, repaired)
    } catch (error) {
      if (turn.signal.aborted) {
        const said = draft.message(boundary, repaired)
        // A parked request is sent again at the resume, as after a kill.
        const kept: EventDraft[] = said.content.length > 0 && !isA(turn.signal.reason, ParkedError) ? [{ type: 'assistant/message', data: { message: said, dispatch, interrupted: true } }] : []
        session.append([{ type: 'request/end', data: { dispatch, outcome: 'aborted', ...draft.told } }, ...kept])
        throw cancelled(turn.signal)
      }
      const failure = toFailure(error)
      session.append({ type: 'request/end', data: { dispatch, outcome: 'error', ...draft.told, error: failure } })
      return failure
    } finally {
      llm.revoke(request)
    }
    const events = session.append([
      { type: 'request/end', data: { dispatch, outcome: 'ok', ...draft.told } },
      { type: 'assistant/message', data: { message, dispatch } },
    ])
    if (draft.usage) host.budget?.recordUsage(request, draft.usage, context && { contextDigest: context.digest })
    return events[1]!.seq
  }
}

function verdict(error: unknown): readonly [TurnReason, ErrorRecord?] {
  if (isA(error, CancelledError)) return ['cancelled', toRecord(error)]
  return [isA(error, LimitError) ? 'limit' : 'error', toRecord(error)]
}

function toFailure(error: unknown): Failure {
  if (isA(error, ModelError)) return error.failure
  return { kind: isA(error, SeamError) ? 'plugin' : 'unknown', message: messageOf(error) }
}
