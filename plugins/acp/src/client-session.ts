import type { AgentContext, ClientCapabilities, ContentBlock as ClientBlock, SessionUpdate } from '@agentclientprotocol/sdk'
import type { CallItem, Item, QuestionItem, Seat, SeatItems } from '@headrace/desk'
import type { CallConfig, ContentInput, Usage } from '@headrace/message'
import type { CallRef, SessionEvent } from '@headrace/session'
import type { Asked } from './asked.ts'
import { callView } from './call-view.ts'
import { DIGEST } from './content.ts'
import { PromptRun } from './prompt-run.ts'
import { type AskedAt, Questions } from './questions.ts'
import { methods } from './sdk.ts'
import { UpdateFold } from './update-fold.ts'

/** What a session of a client needs. */
export interface ClientSessionOptions {
  readonly seat: Seat
  /** Absolute. */
  readonly cwd: string
  readonly client: AgentContext
  readonly capabilities: ClientCapabilities
  windowOf(model: string): number | undefined
  costOf(model: string, usage: Usage): number | undefined
  /** The bytes of an image. */
  blob(digest: string): Promise<Uint8Array | undefined>
  /** The config is another than it was. */
  configured(): void
  /** A turn has ended. */
  ended(): void
  warn(problem: string): void
}

/** A session that a client has open: what it is told of it, its prompts, and the questions it is asked. */
export class ClientSession {
  readonly seat: Seat
  readonly cwd: string
  /** As the log has it. */
  config: Partial<CallConfig> = {}
  private readonly options: ClientSessionOptions
  private readonly fold: UpdateFold
  private readonly questions: Questions
  private readonly runs = new Set<PromptRun>()
  private readonly closing = new AbortController()
  private readonly calls = new Map<string, CallItem>()
  /** Prompts that are the client's own. */
  private readonly own = new Set<number>()
  /** Own prompts by their place in the log, where their message is told. */
  private readonly ownMessages = new Set<number>()
  private turn: number | undefined
  private title: string | undefined
  private firstPrompt: string | undefined
  private saidTitle: string | undefined
  /** Updates that wait for the session's reply; afterwards they go at once. */
  private held: SessionUpdate[] | undefined = []
  private isReplaying = false
  private last: Promise<unknown> = Promise.resolve()
  private problem: unknown

  constructor(options: ClientSessionOptions) {
    this.options = options
    const { seat, cwd, client, capabilities, windowOf, costOf, warn } = options
    this.seat = seat
    this.cwd = cwd
    this.fold = new UpdateFold({
      cwd, windowOf, costOf,
      terminal: capabilities._meta?.['terminal_output'] === true,
      notices: capabilities.session?.notices != null,
      compaction: capabilities.session?.compaction != null,
      isKnown: (item) => item.kind === 'message' ? item.seq !== undefined && this.ownMessages.has(item.seq) : this.isToldByReply(item.turn, item.reason),
    })
    this.questions = new Questions({
      client, seat, warn, forms: capabilities.elicitation?.form != null,
      told: (at, fields) => this.fold.told(at.call, fields),
      over: (at) => this.over(at),
    })
  }

  /**
   * Follows the session; resolves when the client knows what stands (with `replay`), or that is passed over. Updates then wait for
   * {@link release}.
   */
  async open(replay: boolean): Promise<void> {
    this.isReplaying = replay
    const { signal } = this.closing
    await new Promise<void>((resolve, reject) => {
      void this.follow(signal, resolve).then(resolve, (error: unknown) => {
        this.problem = error
        reject(error)
        for (const run of this.runs) run.fail(error)
      })
    })
    await this.last
  }

  /** The session's reply is sent: what waited goes now, and the rest as it comes. */
  release(): void {
    const held = this.held ?? []
    this.held = undefined
    for (const update of held) this.send(update)
  }

  send(update: SessionUpdate): void {
    if (this.held && !this.isReplaying) {
      this.held.push(update)
      return
    }
    const { client } = this.options
    const sessionId = this.seat.id
    this.last = this.last
      .then(async () => client.notify(methods.client.session.update, { sessionId, update: await this.filled(update) }))
      .catch((error: unknown) => { if (!this.closing.signal.aborted) this.options.warn(`an update could not be sent: ${String(error)}`) })
  }

  /** A line of the door's own. */
  say(words: string): void {
    this.send(this.fold.said(words, 'command'))
  }

  /** Begins what a prompt of the client asks for. Call it before anything is waited for: a cancel that comes at once must find it. */
  begin(): PromptRun {
    const run = new PromptRun(this.seat)
    this.runs.add(run)
    if (this.problem !== undefined) run.fail(this.problem)
    return run
  }

  /** Ends it: its reply is what comes behind all updates so far. */
  async end(run: PromptRun): Promise<void> {
    this.runs.delete(run)
    await this.last
  }

  /** Sends input for a run; a prompt while a turn runs is a steer. */
  post(run: PromptRun, input: ContentInput): void {
    this.seat.send(input, { steer: true, key: run.key })
      .then(({ logged }) => logged)
      .catch((error: unknown) => run.fail(error))
  }

  /** Ends what runs: the client's prompts, and a turn that came from elsewhere. */
  cancel(): void {
    for (const run of this.runs) run.cancel()
    if (this.runs.size === 0 && this.turn !== undefined) {
      void this.seat.cancel(this.turn, 'cancelled by the client').catch((error: unknown) => this.options.warn(`the turn could not be cancelled: ${String(error)}`))
    }
  }

  /** Asks what a session under this one asks; what it shows is the call that it works for. */
  askFor(session: string, question: number, asked: Asked, under: CallRef): void {
    const call = this.calls.get(keyOf(under))
    if (!call) return
    this.ask(call, { session, question }, asked)
  }

  /** Questions that are closed, wherever they stand. */
  closeQuestions(): void {
    this.questions.keep(this.seat.questions)
  }

  /** @param isCancelling what runs is cancelled, too */
  close(isCancelling: boolean): void {
    if (isCancelling) this.cancel()
    this.closing.abort()
    this.questions.closeAll()
  }

  private async follow(signal: AbortSignal, opened: () => void): Promise<void> {
    let isFirst = true
    for await (const told of this.seat.items({ signal })) {
      this.take(told, isFirst)
      if (isFirst) {
        await this.last
        this.isReplaying = false
        opened()
      }
      isFirst = false
    }
  }

  /** Updates first, then what ends prompts: a prompt's reply comes behind the last update of its turn. */
  private take(told: SeatItems, isFirst: boolean): void {
    const isPassedOver = isFirst && !this.isReplaying
    const emit = (updates: readonly SessionUpdate[]): void => {
      if (!isPassedOver) for (const update of updates) this.send(update)
    }
    if (told.type === 'reset') {
      this.calls.clear()
      emit(this.fold.reset())
      return
    }
    const { changes, events = [] } = told
    for (const event of events) this.before(event)
    emit(this.fold.map(changes))
    const questions = changes.flatMap((change) => change.type === 'put' ? this.itemPut(change.item) : [])
    for (const event of events) this.after(event)
    for (const question of questions) this.askOwn(question)
    this.tellTitle(emit)
  }

  private before(event: SessionEvent): void {
    const { type, seq, data } = event
    switch (type) {
      case 'prompt/queued': {
        if ([...this.runs].some(({ key }) => key === data.key)) this.own.add(seq)
        this.firstPrompt ??= data.input.content.map((block) => block.type === 'text' ? block.text : '').join('')
        return
      }
      case 'user/message': if (this.own.has(data.prompt)) this.ownMessages.add(seq); return
      case 'turn/start': this.turn = data.turn; return
      case 'session/open': this.title = data.title ?? this.title; return
      case 'session/title': this.title = data.title
    }
  }

  private after(event: SessionEvent): void {
    for (const run of this.runs) run.take(event, this.turn)
    switch (event.type) {
      case 'turn/end':
        this.turn = undefined
        this.options.ended()
        return
      case 'session/open': this.config = { ...event.data.config }; return
      case 'request/header': if (!event.data.substitute) this.reconfigure(event.data.header.config); return
      case 'request/header-delta': if (!event.data.substitute && event.data.delta.config) this.reconfigure(event.data.delta.config)
    }
  }

  private reconfigure(config: Partial<CallConfig>): void {
    const isOther = config.model !== this.config.model || config.reasoningEffort !== this.config.reasoningEffort
    this.config = config
    if (isOther) this.options.configured()
  }

  private itemPut(item: Item): readonly QuestionItem[] {
    if (item.kind === 'call' && item.call) this.calls.set(keyOf(item.call), item)
    if (item.kind !== 'question') return []
    if (item.state === 'open') return [item]
    this.questions.close(this.seat.id, item.question)
    return []
  }

  private askOwn(item: QuestionItem): void {
    const call = this.calls.get(keyOf(item.call))
    const input = call && (call.input ?? { arguments: call.arguments })
    const { about: kind, text: question, options, schema } = item
    const asked: Asked = {
      kind, question, ...(options && { options }), ...(schema && { schema }), ...(call && kind === 'permission' && { call: { name: call.name, input: input! } }),
    }
    if (call) this.ask(call, { session: this.seat.id, question: item.question }, asked)
  }

  private ask(call: CallItem, at: Pick<AskedAt, 'session' | 'question'>, asked: Asked): void {
    const terminal = this.fold.options.terminal && at.session !== this.seat.id
    // Behind the updates so far: a client must know the call that it is asked about.
    this.last = this.last.then(() => this.questions.ask(
      { ...at, call: call.id, toolCallId: this.fold.idOf(call.id), view: callView(call, { cwd: this.cwd, terminal }) }, asked,
    ))
  }

  /** The call of a question of another session is shown as it was. */
  private over({ call, session }: AskedAt): void {
    const item = [...this.calls.values()].find(({ id }) => id === call)
    if (item && session !== this.seat.id) for (const update of this.fold.map([{ type: 'put', item }])) this.send(update)
  }

  private isToldByReply(turn: number | undefined, reason: string | undefined): boolean {
    return reason === 'error' && turn !== undefined && [...this.runs].some((run) => run.turn === turn)
  }

  private tellTitle(emit: (updates: readonly SessionUpdate[]) => void): void {
    const title = titleOf(this.title ?? this.firstPrompt)
    if (title === undefined || title === this.saidTitle) return
    this.saidTitle = title
    emit([{ sessionUpdate: 'session_info_update', title }])
  }

  private async filled(update: SessionUpdate): Promise<SessionUpdate> {
    if (!('content' in update) || update.content == null) return update
    if (!Array.isArray(update.content)) return { ...update, content: await this.block(update.content) } as SessionUpdate
    const parts = await Promise.all(update.content.map(async (part) => part.type === 'content' ? { ...part, content: await this.block(part.content) } : part))
    return { ...update, content: parts } as SessionUpdate
  }

  private async block(block: ClientBlock): Promise<ClientBlock> {
    const digest = block.type === 'image' ? block._meta?.[DIGEST] : undefined
    if (typeof digest !== 'string') return block
    const bytes = await this.options.blob(digest).catch(() => undefined)
    return bytes ? { ...block, data: Buffer.from(bytes).toString('base64') } as ClientBlock : { type: 'text', text: '[an image that is not kept any more]' }
  }
}

/** One line of a title, or of a prompt that stands for one. */
export function titleOf(text: string | undefined): string | undefined {
  const line = text?.trim().split('\n')[0]!.trim().slice(0, 200).toWellFormed()
  return line === '' ? undefined : line
}

function keyOf({ assistant, index }: CallRef): string {
  return `${assistant}.${index}`
}
