import { HeadraceError, messageOf } from '@headrace/message'
import { AgentError } from '@headrace/agent'
import { type Cursor, type Posted, type SessionEvent, type SessionStore, cursorOf } from '@headrace/session'
import { resultOf, turnEvents, withoutTurn } from './log.ts'
import type { Sent, SentResult } from './seat.ts'

/** What the log is watched for. */
export interface SentOptions {
  readonly store: SessionStore
  readonly id: string
  readonly posted: Posted
  /** Where the log stood before the letter was posted. */
  readonly from: Cursor | undefined
  /** Called when somebody begins to wait; what it returns when that is over. */
  readonly wait: (fail: (error: unknown) => void) => () => void
}

/** What became of a prompt, from the log, wherever it runs. The log is watched while somebody waits for it. */
export class SentPrompt implements Sent {
  readonly letter?: string
  readonly repeated?: true
  private readonly options: SentOptions
  private watched: { readonly logged: Promise<number>; readonly result: Promise<SentResult> } | undefined

  constructor(options: SentOptions) {
    this.options = options
    const { letter, repeated } = options.posted
    if (letter !== undefined) this.letter = letter
    if (repeated) this.repeated = repeated
  }

  get logged(): Promise<number> {
    return (this.watched ??= this.watch()).logged
  }

  get result(): Promise<SentResult> {
    return (this.watched ??= this.watch()).result
  }

  private watch(): { readonly logged: Promise<number>; readonly result: Promise<SentResult> } {
    const end = new AbortController()
    let tell!: { readonly resolve: (seq: number) => void; readonly reject: (error: unknown) => void }
    const logged = new Promise<number>((resolve, reject) => (tell = { resolve, reject }))
    logged.catch(() => undefined)
    let failure: { readonly error: unknown } | undefined
    const over = this.options.wait((error) => {
      failure ??= { error }
      end.abort()
    })
    const { posted } = this.options
    if (posted.logged !== undefined) tell.resolve(posted.logged)
    const result = this.follow(end.signal, tell.resolve).catch((error: unknown) => {
      const told = failure ? failure.error : error
      tell.reject(told)
      const code = told instanceof HeadraceError ? told.code : 'UNEXPECTED'
      if (code === 'DESK_CLOSED') return withoutTurn('parked', code, messageOf(told))
      return withoutTurn(code === 'LETTER_REFUSED' ? 'withdrawn' : 'error', code, messageOf(told))
    }).finally(() => {
      end.abort()
      over()
    })
    return { logged, result }
  }

  /** @throws where the letter was refused, the log is another one, or it cannot be read */
  private async follow(signal: AbortSignal, tell: (seq: number) => void): Promise<SentResult> {
    const { store, id, posted } = this.options
    const mark = new Mark(posted, tell)
    const from = posted.logged === undefined ? this.options.from : await cursorAt(store, id, posted.logged)
    let isFirst = true
    for await (const item of store.follow(id, { signal, ...(from !== undefined && { from }) })) {
      // A card may be of an older log: then what was posted stands in the one that follows.
      if ('reset' in item && !isFirst) throw new AgentError('SESSION_REPLACED', `session ${id} was removed, and made anew: what was sent went with it`)
      isFirst = false
      if ('reset' in item) continue
      for (const event of item.events) {
        const found = mark.take(event)
        if (found === 'ended') return resultOf(await turnEvents(store, id, event.seq))
        if (found) return found
      }
    }
    throw new AgentError('DESK_CLOSED', `session ${id} is not followed any more; what was sent stands in its log, or waits for it`)
  }
}

/** Where a prompt is on its way, one event after the other. */
class Mark {
  private readonly letter: string | undefined
  private readonly tell: (seq: number) => void
  private prompt: number | undefined
  private isInTurn = false

  constructor({ letter, logged }: Posted, tell: (seq: number) => void) {
    this.letter = letter
    this.prompt = logged
    this.tell = tell
  }

  /** `ended` at the end of its turn; a result where it has none. @throws AgentError where it was refused */
  take(event: SessionEvent): SentResult | 'ended' | undefined {
    const { type, data, seq } = event
    if (this.prompt === undefined) {
      if (this.letter === undefined || (type !== 'prompt/queued' && type !== 'letter/refused') || data.letter !== this.letter) return undefined
      if (type === 'letter/refused') throw new AgentError('LETTER_REFUSED', data.reason)
      this.prompt = seq
      this.tell(seq)
      return undefined
    }
    if (type === 'prompt/withdrawn' && data.prompt === this.prompt) return withoutTurn('withdrawn', 'WITHDRAWN', data.reason)
    // A steer joins the turn that is open; that one is the next to end.
    if ((type === 'turn/start' || type === 'user/message') && data.prompt === this.prompt) this.isInTurn = true
    return type === 'turn/end' && this.isInTurn ? 'ended' : undefined
  }
}

/** The cursor of an event that the log has. */
async function cursorAt(store: SessionStore, id: string, seq: number): Promise<Cursor | undefined> {
  for await (const [event] of store.read(id, seq, seq + 1)) if (event) return cursorOf(id, event)
  return undefined
}
