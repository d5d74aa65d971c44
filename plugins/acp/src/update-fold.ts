import type { ContentChunk, SessionUpdate } from '@agentclientprotocol/sdk'
import type { CallItem, Item, ItemChange, MessageItem, NoticeItem, PlanItem, ThoughtItem, UsageItem } from '@headrace/desk'
import { type Json, type Owner, type Usage, sameJson } from '@headrace/message'
import { type CallView, type CallViewOptions, callView, isTerminal, text } from './call-view.ts'
import { toClient } from './content.ts'
import { inert } from './markdown.ts'

/** The field of `_meta` that says whose a message, call or plan is. */
export const OWNER = 'headrace/owner'
/** The field of `_meta` of what is no part of the conversation: what this door says itself. */
export const NOTICE = 'headrace/notice'

/** What the client can show, and what is known of models. */
export interface UpdateOptions extends CallViewOptions {
  readonly notices: boolean
  readonly compaction: boolean
  /** Tokens of a model's window; `undefined` where it is not known. */
  windowOf(model: string): number | undefined
  /** US dollars of a request; `undefined` where the rates are not known. */
  costOf(model: string, usage: Usage): number | undefined
  /** The client has it already: its own prompt, or the error that its prompt's reply says. */
  isKnown(item: MessageItem | NoticeItem): boolean
}

/** What was sent of an item. */
type Sent =
  | { readonly kind: 'text'; readonly type: 'user' | 'agent' | 'thought'; text: string; blocks: number }
  | { readonly kind: 'call'; view: CallView; progress: string; isOver: boolean }
  | { readonly kind: 'said'; readonly isShown: boolean }

/**
 * Maps changes of items to updates of a session. ACP v1 only adds: of what it cannot take back it says, once for a failed attempt or a
 * rewind, that it does not count.
 */
export class UpdateFold {
  readonly options: UpdateOptions
  private readonly sent = new Map<string, Sent>()
  /** Plans that stand, oldest first. */
  private readonly plans = new Map<string, PlanItem>()
  private readonly bills = new Map<string, number | undefined>()
  /** How often everything began anew: ids that were used are not used again. */
  private lives = 0
  private notices = 0

  constructor(options: UpdateOptions) {
    this.options = options
  }

  /** The updates that a client needs to have what the items say. */
  map(changes: readonly ItemChange[]): readonly SessionUpdate[] {
    const updates: SessionUpdate[] = []
    const discarded = new Set<'failed' | 'rewound'>()
    for (const change of changes) {
      switch (change.type) {
        case 'put': this.put(change.item, updates); break
        case 'text': this.append(change.id, change.at, change.text, updates); break
        case 'remove': {
          const isLost = this.remove(change.id, updates)
          if (isLost && (change.why === 'failed' || change.why === 'rewound')) discarded.add(change.why)
        }
      }
    }
    for (const why of discarded) updates.push(this.said(DISCARDED[why], 'discarded'))
    return updates
  }

  /** Begins anew: what was shown is that of another log. */
  reset(): readonly SessionUpdate[] {
    const updates: SessionUpdate[] = []
    const isLost = [...this.sent.keys()].map((id) => this.remove(id, updates)).some(Boolean)
    this.lives++
    this.plans.clear()
    this.bills.clear()
    return isLost ? [...updates, this.said(DISCARDED.reset, 'discarded')] : updates
  }

  /** A line of this door's own, which stands in no log. */
  said(words: string, what: string): SessionUpdate {
    const { notices } = this.options
    if (notices && what === 'discarded') return { sessionUpdate: 'notice', severity: 'info', title: words, _meta: { [NOTICE]: what } }
    return {
      sessionUpdate: 'agent_message_chunk', messageId: `${NOTICE}/${this.lives}.${this.notices++}`,
      content: { type: 'text', text: words }, _meta: { [NOTICE]: what },
    }
  }

  /** Fields of a call that were sent by another way, with a question: the next update says what differs from them. */
  told(id: string, fields: Partial<CallView>): void {
    const sent = this.sent.get(id)
    if (sent?.kind === 'call') sent.view = { ...sent.view, ...fields }
  }

  /** The id of a call or message, as the client has it. */
  idOf(id: string): string {
    return this.lives === 0 ? id : `${id}~${this.lives}`
  }

  private put(item: Item, updates: SessionUpdate[]): void {
    switch (item.kind) {
      case 'message': return this.message(item, updates)
      case 'thought': return this.text(item, 'thought', item.text, updates)
      case 'call': return this.call(item, updates)
      case 'plan': return this.plan(item, updates)
      case 'notice': return this.notice(item, updates)
      case 'usage': return this.usage(item, updates)
      // A request of its own asks it.
      case 'question':
    }
  }

  private message(item: MessageItem, updates: SessionUpdate[]): void {
    // What plugins put there for the model is shown nowhere in this protocol; what waits is shown once it is taken.
    if (item.context || item.role === 'system' || item.state === 'queued') return
    const type = item.role === 'user' ? 'user' : 'agent'
    if (this.options.isKnown(item)) return void this.sent.set(item.id, { kind: 'said', isShown: true })
    const texts = item.content.map((block) => block.type === 'text' ? block.text : '').join('')
    this.text(item, type, texts, updates)
    const sent = this.sent.get(item.id)
    const others = item.content.filter((block) => block.type !== 'text')
    if (sent?.kind !== 'text') return
    for (const block of others.slice(sent.blocks)) updates.push(this.chunk(item, type, toClient(block)))
    sent.blocks = others.length
  }

  private text(item: MessageItem | ThoughtItem, type: 'user' | 'agent' | 'thought', whole: string, updates: SessionUpdate[]): void {
    const sent = this.sent.get(item.id)
    if (sent?.kind === 'said') return
    if (sent?.kind !== 'text') {
      this.sent.set(item.id, { kind: 'text', type, text: whole, blocks: 0 })
      if (whole !== '') updates.push(this.chunk(item, type, { type: 'text', text: whole }))
      return
    }
    const more = whole.startsWith(sent.text) ? whole.slice(sent.text.length) : `\n\n${DISCARDED.changed}\n\n${whole}`
    sent.text = whole
    if (more !== '') updates.push(this.chunk(item, type, { type: 'text', text: more }))
  }

  private append(id: string, at: number, more: string, updates: SessionUpdate[]): void {
    const sent = this.sent.get(id)
    if (sent?.kind !== 'text') return
    const rest = more.slice(Math.max(0, sent.text.length - at))
    if (at > sent.text.length || rest === '') return
    sent.text += rest
    updates.push(this.chunk({ id, owner: 'model' }, sent.type, { type: 'text', text: rest }))
  }

  private chunk({ id, owner }: Pick<Item, 'id' | 'owner'>, type: 'user' | 'agent' | 'thought', content: ContentChunk['content']): SessionUpdate {
    const sessionUpdate = ({ user: 'user_message_chunk', agent: 'agent_message_chunk', thought: 'agent_thought_chunk' } as const)[type]
    return { sessionUpdate, messageId: this.idOf(id), content, _meta: signed(owner) }
  }

  private call(item: CallItem, updates: SessionUpdate[]): void {
    const view = callView(item, this.options)
    const toolCallId = this.idOf(item.id)
    const sent = this.sent.get(item.id)
    const withId = { ...view, content: view.content.map((part) => part.type === 'terminal' ? { ...part, terminalId: toolCallId } : part) }
    const isOver = item.output !== undefined
    if (sent?.kind !== 'call') {
      const isInTerminal = isTerminal(item, this.options)
      updates.push({
        sessionUpdate: 'tool_call', toolCallId, ...withId,
        _meta: { ...signed(item.owner), ...(isInTerminal && { terminal_info: { terminal_id: toolCallId, cwd: this.options.cwd } }) },
      })
      const now: Sent = { kind: 'call', view: withId, progress: '', isOver: false }
      this.sent.set(item.id, now)
      if (isInTerminal) this.output(item, now, updates)
      now.isOver = isOver
      return
    }
    if (isTerminal(item, this.options)) this.output(item, sent, updates)
    const changed = Object.fromEntries(Object.entries(withId).filter(([key, value]) => !sameJson(value, sent.view[key as keyof CallView])))
    sent.view = withId
    sent.isOver = isOver
    if (Object.keys(changed).length > 0) updates.push({ sessionUpdate: 'tool_call_update', toolCallId, ...changed, _meta: signed(item.owner) })
  }

  /** The output of a command as a terminal of the client shows it: what came since, and the end. */
  private output(item: CallItem, sent: Extract<Sent, { kind: 'call' }>, updates: SessionUpdate[]): void {
    if (sent.isOver) return
    const toolCallId = this.idOf(item.id)
    const isOver = item.output !== undefined
    const ran = item.state === 'done' || item.state === 'error'
    const shown = item.progress?.text ?? (isOver && ran && sent.progress === '' ? textOf(item) : sent.progress)
    const data = inert(shown.slice(overlap(sent.progress, shown)))
    sent.progress = shown
    if (data !== '') updates.push({ sessionUpdate: 'tool_call_update', toolCallId, _meta: { terminal_output: { terminal_id: toolCallId, data } } })
    if (isOver && ran) updates.push({ sessionUpdate: 'tool_call_update', toolCallId, _meta: { terminal_exit: { terminal_id: toolCallId, ...exitOf(item.details) } } })
  }

  private plan(item: PlanItem, updates: SessionUpdate[]): void {
    this.plans.delete(item.id)
    this.plans.set(item.id, item)
    updates.push(planUpdate(item))
  }

  private notice(item: NoticeItem, updates: SessionUpdate[]): void {
    if (this.sent.has(item.id) || item.notice === 'title' || item.notice === 'withdrawn') return
    if (this.options.isKnown(item) || item.reason === 'cancelled') return
    const { notices, compaction } = this.options
    const _meta = { ...signed(item.owner), [NOTICE]: item.notice }
    this.sent.set(item.id, { kind: 'said', isShown: false })
    if (item.notice === 'compaction' && compaction) updates.push({ sessionUpdate: 'compaction_update', compactionId: this.idOf(item.id), status: 'completed', _meta })
    else if (notices) updates.push({ sessionUpdate: 'notice', severity: item.reason === 'error' ? 'error' : item.notice === 'ended' ? 'warning' : 'info', title: item.text, _meta })
    else if (item.notice === 'ended') updates.push({ sessionUpdate: 'agent_message_chunk', messageId: this.idOf(item.id), content: { type: 'text', text: item.text }, _meta })
  }

  private usage({ id, model, usage, purpose }: UsageItem, updates: SessionUpdate[]): void {
    this.bills.set(id, this.options.costOf(model, usage))
    if (purpose !== undefined) return
    const size = this.options.windowOf(model)
    // A size that nobody knows is not made up.
    if (size === undefined) return
    const bills = [...this.bills.values()]
    const amount = bills.includes(undefined) ? undefined : Math.round(bills.reduce<number>((sum, bill) => sum + bill!, 0) * 1e6) / 1e6
    updates.push({
      sessionUpdate: 'usage_update', used: usage.input + usage.output, size,
      ...(amount !== undefined && { cost: { amount, currency: 'USD' } }),
    })
  }

  /** True where the client was shown what it still shows. */
  private remove(id: string, updates: SessionUpdate[]): boolean {
    const sent = this.sent.get(id)
    this.sent.delete(id)
    if (this.plans.delete(id)) updates.push(planUpdate([...this.plans.values()].at(-1)))
    if (sent?.kind === 'said') return sent.isShown
    if (sent?.kind === 'text') return sent.text !== ''
    if (sent?.kind !== 'call') return false
    const isOpen = sent.view.status === 'pending' || sent.view.status === 'in_progress'
    if (isOpen) updates.push({ sessionUpdate: 'tool_call_update', toolCallId: this.idOf(id), status: 'failed', content: [text(DISCARDED.call)] })
    return true
  }
}

const DISCARDED = {
  failed: '[discarded: the request failed and is sent again; what was said of it above does not count]',
  rewound: '[discarded: the session went back; what stands above from there on does not count]',
  reset: '[discarded: the session is another than it was; what stands above does not count]',
  changed: '[discarded: what was said above was changed; it is]',
  call: 'discarded: it was not run',
} as const

function signed(owner: Owner): Record<string, Json> {
  return { [OWNER]: owner }
}

function planUpdate(plan: PlanItem | undefined): SessionUpdate {
  return {
    sessionUpdate: 'plan',
    entries: (plan?.entries ?? []).map(({ content, status }) => ({ content, status, priority: 'medium' })),
    ...(plan && { _meta: signed(plan.owner) }),
  }
}

/** How much of a text stands at the end of another; of what a tool shows only the end is kept. */
function overlap(before: string, after: string): number {
  for (let length = Math.min(before.length, after.length); length > 0; length--) {
    if (before.endsWith(after.slice(0, length))) return length
  }
  return 0
}

function textOf({ output = [] }: CallItem): string {
  return output.map((block) => block.type === 'text' ? block.text : '').join('')
}

function exitOf(details: Json | undefined): { readonly exit_code: number | null; readonly signal: string | null } {
  const { exitCode, signal } = (details ?? {}) as { readonly exitCode?: unknown; readonly signal?: unknown }
  return { exit_code: typeof exitCode === 'number' ? exitCode : null, signal: typeof signal === 'string' ? signal : null }
}
