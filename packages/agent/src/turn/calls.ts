import { type Json, type ToolMessage, callsOf, copyJson, defined, isA, messageOf } from '@headrace/message'
import { type CallOutcome, type EventDraft, type SessionEvent, type Signed, honestResult } from '@headrace/session'
import { CancelledError, SeamError } from '../contract/error.ts'
import { wireOrder } from '../seams/contribution.ts'
import { errorOutcome } from '../seams/outcome.ts'
import { cancelled } from '../seams/dispatch.ts'
import { leftChildren } from './children.ts'
import type { Finished } from '../seams/seams.ts'
import type { ToolCall, ToolOutcome, ToolRun } from '../contract/tool.ts'
import { type JudgeHost, judgeCall } from './judgement.ts'
import { type ToolEntry, type ToolsSnapshot, parseArguments, unknownTool } from './tool-registry.ts'
import { Countdown } from '../seams/countdown.ts'
import { type Timer, abortController, startTimer } from '../seams/timer.ts'
import { ToolQuestions } from './tool-questions.ts'
import type { Turn } from '../contract/turn.ts'
import type { TurnHost } from './host.ts'
import { CallProgress } from './progress.ts'
import { drive } from './yielding.ts'

/** What a batch needs of its agent. */
type CallHost = JudgeHost & Pick<TurnHost, 'departures' | 'tools' | 'llm' | 'outcomes' | 'tell' | 'running'>

/** A call that may run: judged, with its arguments as the tool takes them. */
interface Allowed {
  readonly call: ToolCall
  readonly entry: ToolEntry
  readonly input: unknown
}

/**
 * The calls of one answer: each is judged, the allowed ones are written down as started, then they run. Every result is in the log as it
 * comes; one that does not come is left to the end of the step, which tells the model so (L16).
 */
export class CallBatch {
  private readonly host: CallHost
  private readonly turn: Turn
  private readonly tools: ToolsSnapshot
  private readonly assistant: number
  /** Aborted a moment after the turn is: what still runs then is abandoned. */
  private readonly abandon = abortController()

  constructor(host: CallHost, turn: Turn, tools: ToolsSnapshot, assistant: number) {
    this.host = host
    this.turn = turn
    this.tools = tools
    this.assistant = assistant
  }

  /** @throws CancelledError; StoreError */
  async run(): Promise<void> {
    const allowed: Allowed[] = []
    for (const [index, block] of this.blocks().entries()) {
      const judged = await this.judge(block, index)
      if ('entry' in judged) allowed.push(judged)
      else this.finish(judged.call, { outcome: judged.refused, contexts: [] }, judged.outcome)
    }
    if (allowed.length === 0) return
    const { session } = this.host
    session.append(allowed.map(({ call }): EventDraft => ({ type: 'tool/start', data: { assistant: this.assistant, index: call.index } })))
    await session.flush()
    await this.runAll(allowed)
  }

  private blocks(): ReturnType<typeof callsOf> {
    const event = this.host.session.at(this.assistant)
    return event?.type === 'assistant/message' ? callsOf(event.data.message) : []
  }

  private async judge(block: ReturnType<typeof callsOf>[number], index: number): Promise<Allowed | { readonly call: Pick<ToolCall, 'id' | 'name' | 'index'>; readonly refused: ToolOutcome; readonly outcome: CallOutcome }> {
    const place = { id: block.id, name: block.name, index }
    const entry = this.tools.entries.get(block.name)
    if (!entry) return { call: place, refused: errorOutcome(unknownTool(block.name, [...this.tools.entries.keys()])), outcome: 'error' }
    if (!this.host.tools.has(entry)) return { call: place, refused: errorOutcome(goneText(block.name)), outcome: 'error' }
    let parsed: ReturnType<typeof parseArguments>
    try {
      parsed = parseArguments(entry, block.arguments)
    } catch (error) {
      return { call: place, refused: errorOutcome(messageOf(error)), outcome: 'error' }
    }
    const call: ToolCall = Object.freeze({ ...place, arguments: block.arguments, input: parsed.json })
    const answer = await judgeCall(this.host, this.turn, this.assistant, call, entry, parsed.input)
    if (answer === 'allow') return { call, entry, input: parsed.input }
    return { call, refused: errorOutcome(`The call was denied: ${answer.deny}`), outcome: 'denied' }
  }

  /** In parallel, but for tools that run alone. */
  private async runAll(allowed: readonly Allowed[]): Promise<void> {
    const waiting = [...allowed]
    let timer: Timer
    const onAbort = (): void => {
      timer = startTimer(this.host.settings.grace, () => this.abandon.abort(new CancelledError('abandoned')))
    }
    this.turn.signal.addEventListener('abort', onAbort, { once: true })
    try {
      const group: Promise<void>[] = []
      for (let item = waiting[0]; item; item = waiting[0]) {
        const { sequential } = item.entry.definition
        if (sequential) await settle(group.splice(0))
        if (this.turn.signal.aborted) break
        waiting.shift()
        const running = this.runOne(item)
        if (sequential) await settle([running])
        else group.push(running)
      }
      await settle(group)
    } finally {
      // Written down as started, and known not to be.
      for (const { call } of waiting) this.host.session.append(honestResult({ assistant: this.assistant, ...call, started: false }))
      clearTimeout(timer)
      this.turn.signal.removeEventListener('abort', onAbort)
    }
    if (this.turn.signal.aborted) throw cancelled(this.turn.signal)
  }

  private async runOne(item: Allowed): Promise<void> {
    const { assistant } = this
    const { call } = item
    this.host.tell(Object.freeze({ type: 'tool-start', assistant, ...call }))
    const progress = this.progressOf(call)
    const outcome = await this.execute(item, progress).finally(() => progress.end())
    if (!outcome) return this.abandoned(call, progress.last)
    const { reporter, seams } = this.host
    let finished: Finished = { outcome, contexts: [] }
    let broken: Error | undefined
    try {
      finished = await seams.postExecute(this.turn, call, outcome)
    } catch (error) {
      if (!this.turn.signal.aborted) broken = error as SeamError
    }
    this.finish(call, finished, finished.outcome.error ? 'error' : 'done', progress.last)
    if (broken && reporter.strict) throw broken
    if (broken) reporter.failed(broken, 'tools/post-execute')
  }

  /** It did not end when it was told to: its outcome is unknown, and what it showed last is kept. */
  private abandoned(call: ToolCall, progress: Json | undefined): void {
    const { assistant, host: { session } } = this
    const text = leftChildren(session, { assistant, index: call.index }).trim() || undefined
    session.append(honestResult({ assistant, ...call, started: true }, { text, progress }))
  }

  private progressOf({ index }: ToolCall): CallProgress {
    const { assistant, host: { session } } = this
    const event = session.at(assistant) as SessionEvent<'assistant/message'>
    const { dispatch, message } = event.data
    const block = message.content.indexOf(callsOf(message)[index]!)
    return new CallProgress({ dispatch, block, assistant, index }, this.host.llm.keys, (piece) => {
      session.live.emit('piece', piece)
      this.host.tell(piece)
    })
  }

  private async execute(item: Allowed, progress: CallProgress): Promise<ToolOutcome | undefined> {
    const { call, entry } = item
    try {
      const limit = entry.definition.timeout ?? this.host.settings.toolTimeout
      return await this.host.seams.execute(this.turn, call, limit, this.abandon.signal, () => this.perform(item, limit, progress))
    } catch (error) {
      if (this.abandon.signal.aborted) return undefined
      if (isA(error, SeamError)) this.host.reporter.failed(error, 'tools/execute')
      return errorOutcome(messageOf(error))
    }
  }

  /** Runs the tool itself, against its clock, the turn, and the departure of its plugin. */
  private perform({ call, entry, input }: Allowed, limit: number, progress: CallProgress): Promise<ToolOutcome> {
    const { settings, departures, tools, outcomes } = this.host
    // It was there when it was judged; others were judged since, and a listener may have waited.
    if (!tools.has(entry)) return Promise.resolve(errorOutcome(goneText(call.name)))
    if (this.turn.signal.aborted) return Promise.resolve(errorOutcome(`The tool ${call.name} was not run: the turn was cancelled.`))
    const own = abortController()
    const onAbort = (): void => own.abort(this.turn.signal.reason)
    this.turn.signal.addEventListener('abort', onAbort, { once: true })
    let grace: Timer
    const clocks = this.host.running?.clocks
    let clock: Countdown | undefined
    let unwatch = (): void => undefined
    const asking = new ToolQuestions(this.host, { assistant: this.assistant, index: call.index }, own.signal)
    const racing = new Promise<ToolOutcome>((resolve, reject) => {
      const late = (): void => {
        own.abort(new CancelledError(`the tool did not finish within ${limit} ms`))
        grace = startTimer(settings.grace, () => resolve(errorOutcome(`The tool did not finish within ${limit} ms and was told to stop. It may have had its effect.`)))
      }
      clock = new Countdown(limit, late)
      clocks?.add(clock)
      unwatch = departures.watch(entry.ctx.fiber, () => {
        own.abort(new CancelledError('the plugin of the tool was unloaded'))
        const left = leftChildren(this.host.session, { assistant: this.assistant, index: call.index })
        resolve(errorOutcome(`The tool ${call.name} is gone: its plugin was unloaded while it ran. It may have had its effect.${left}`))
      })
      this.abandon.signal.addEventListener('abort', () => reject(cancelled(this.abandon.signal)), { once: true })
      const run: ToolRun = {
        agent: this.host.view(entry.plugin), turn: this.turn, call, signal: own.signal,
        ask: (question) => asking.ask(question, clock),
        progress: (state) => progress.replace(state), output: (text) => progress.append(text),
      }
      const repaired = (at: string): void => this.host.reporter.report({ kind: 'repaired', plugin: entry.plugin, seam: 'tools/execute', problem: `${at} had a lone surrogate; it was replaced` })
      Promise.resolve().then(() => entry.definition.execute(input as never, run))
        .then((output) => drive(output, own.signal, run.progress))
        .then((output) => outcomes.read(output, `result of ${call.name}`, repaired))
        .then(resolve, (error: unknown) => resolve(errorOutcome(messageOf(error))))
    })
    return racing.finally(() => {
      asking.end()
      clock?.stop()
      if (clock) clocks?.delete(clock)
      clearTimeout(grace)
      unwatch()
      this.turn.signal.removeEventListener('abort', onAbort)
    })
  }

  private finish(call: Pick<ToolCall, 'id' | 'name' | 'index'>, { outcome, owner, contexts }: Finished, kind: CallOutcome, progress?: Json): void {
    const { error, endTurn } = outcome
    const { content, details } = this.host.llm.keys.redactJson({ content: outcome.content, details: outcome.details ?? null })
    const message: ToolMessage = copyJson({ role: 'tool', content: [{ type: 'tool-result', id: call.id, name: call.name, content, ...(error && { error }) }] } as const)
    const additionalContext: readonly Signed<Finished['contexts'][number]['message']>[] = wireOrder(contexts).map(({ message: context, owner }) => ({ message: context, owner }))
    this.host.session.append({
      type: 'tool/result',
      data: defined({
        assistant: this.assistant, index: call.index, message, outcome: kind, owner,
        additionalContext: additionalContext.length > 0 ? additionalContext : undefined,
        details: outcome.details === undefined ? undefined : details, progress, endTurn,
      }),
    })
  }
}

/** Waits for all, then throws what the first of them threw. */
async function settle(running: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(running)) if (result.status === 'rejected') throw result.reason
}

function goneText(tool: string): string {
  return `The tool ${tool} is gone: its plugin was unloaded.`
}
