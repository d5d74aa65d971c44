import { randomUUID } from 'node:crypto'
import type { PromptResponse, StopReason } from '@agentclientprotocol/sdk'
import type { Seat } from '@headrace/desk'
import { HeadraceError } from '@headrace/message'
import type { SessionEvent, TurnReason } from '@headrace/session'

/** A turn that ended so that no answer can be told: the reason is its message. */
class TurnError extends HeadraceError {}

/** How a turn's end is called in the protocol; an error is none of them. */
const STOPS: Readonly<Record<Exclude<TurnReason, 'error' | 'lost' | 'done'>, StopReason>> = {
  limit: 'max_turn_requests', blocked: 'refusal', stopped: 'end_turn', cancelled: 'cancelled',
}

/** A prompt of the client, until the turn that took it has ended. A cancel ends it `cancelled`, whatever else becomes of it. */
export class PromptRun {
  /** Names it in the log. */
  readonly key = `acp/${randomUUID()}`
  readonly result: Promise<PromptResponse>
  turn: number | undefined
  /** Aborted by a cancel. */
  readonly signal: AbortSignal
  private readonly seat: Seat
  private readonly cancelling = new AbortController()
  private seq: number | undefined
  private settle!: { readonly resolve: (response: PromptResponse) => void; readonly reject: (error: unknown) => void }
  private isStopping = false

  constructor(seat: Seat) {
    this.seat = seat
    this.signal = this.cancelling.signal
    this.result = new Promise((resolve, reject) => { this.settle = { resolve, reject } })
    this.result.catch(() => undefined)
  }

  /** What the log says of it. Called behind the updates of the same events. */
  take({ type, seq, data }: SessionEvent, turn: number | undefined): void {
    switch (type) {
      case 'prompt/queued': if (data.key === this.key) this.seq = seq; break
      case 'prompt/withdrawn': if (data.prompt === this.seq) this.end('cancelled'); break
      case 'turn/start': if (data.prompt !== undefined && data.prompt === this.seq) this.turn = data.turn; break
      case 'user/message': if (data.prompt === this.seq) this.turn = turn; break
      case 'turn/end': if (data.turn === this.turn) this.turnEnd(data)
    }
    if (this.signal.aborted) this.stop()
  }

  cancel(): void {
    if (!this.signal.aborted) this.cancelling.abort()
    this.stop()
  }

  fail(error: unknown): void {
    if (this.signal.aborted) this.end('cancelled')
    else this.settle.reject(error)
  }

  end(stopReason: StopReason): void {
    this.settle.resolve({
      stopReason: this.signal.aborted ? 'cancelled' : stopReason,
      ...(this.turn !== undefined && { _meta: { 'headrace/turn': this.turn } }),
    })
  }

  private turnEnd({ reason, finish, error }: SessionEvent<'turn/end'>['data']): void {
    if (reason === 'error' || reason === 'lost') {
      this.fail(new TurnError(error?.code ?? 'TURN_LOST', error?.message ?? 'the turn was cut off, and was closed'))
    } else if (reason === 'done') this.end(finish === 'length' ? 'max_tokens' : finish === 'refusal' ? 'refusal' : 'end_turn')
    else this.end(STOPS[reason])
  }

  /** Takes it back while it waits, else ends its turn; looked at again with each event, so that none comes between unseen. */
  private stop(): void {
    if (this.isStopping || this.seq === undefined) return
    this.isStopping = true
    void this.stopped().catch((error: unknown) => this.fail(error))
  }

  private async stopped(): Promise<void> {
    const prompt = this.seq!
    // The turn that takes it is told by an event behind it.
    if (this.turn === undefined && (await this.seat.withdraw(prompt, 'cancelled by the client') || this.turn === undefined)) {
      this.isStopping = false
      return
    }
    await this.seat.cancel(this.turn, 'cancelled by the client')
  }
}

