import { LogError } from './error.ts'
import type { SessionEvent } from './event.ts'
import type { Ledger } from './ledger.ts'
import { letterOf } from './store/letter.ts'

/**
 * Compares the coordinates in events with their position in the log: no fold needs them, and they are wrong in a log that
 * was assembled by hand. Feed it each event before the fold that owns `ledger`.
 */
export class Coordinates {
  /** The attempt of the open step's last dispatch, and its dispatches that ended. */
  private attempt = 0
  private readonly attempts = new Set<number>()
  private readonly ended = new Set<number>()
  private readonly questions = new Set<number>()
  private readonly started = new Set<string>()

  /** @throws LogError */
  check(event: SessionEvent, ledger: Ledger): void {
    const letter = letterOf(event)
    if (letter !== undefined && ledger.isTaken(letter)) throw new LogError(`it takes the letter ${JSON.stringify(letter)} a second time`, event.seq, 'LOG_DIFFERS')
    switch (event.type) {
      case 'step/start': return this.begin()
      case 'request/dispatch': return this.dispatch(event, ledger)
      case 'request/end': return void this.ended.add(event.data.dispatch)
      case 'assistant/message': return this.answer(event)
      case 'tool/start': return this.start(event)
      case 'question/asked': return void this.questions.add(event.seq)
      case 'question/answered':
        if (!this.questions.has(event.data.question)) throw new LogError(`it answers event ${event.data.question}, which is no question`, event.seq, 'LOG_DIFFERS')
    }
  }

  private begin(): void {
    this.attempt = 0
    this.attempts.clear()
    this.ended.clear()
    this.started.clear()
  }

  private dispatch({ seq, data }: SessionEvent<'request/dispatch'>, { turn }: Ledger): void {
    if (data.purpose !== undefined) return
    const { turn: number, step, attempt } = data
    const here = turn?.step
    const last = this.attempt
    this.attempt = Math.max(last, attempt ?? 0)
    this.attempts.add(seq)
    if (number !== undefined && number !== turn?.number) throw new LogError(`it says turn ${number}, and stands in ${turn ? `turn ${turn.number}` : 'none'}`, seq, 'LOG_DIFFERS')
    if (step !== undefined && step !== here?.number) throw new LogError(`it says step ${step}, and stands in ${here ? `step ${here.number}` : 'none'}`, seq, 'LOG_DIFFERS')
    // Attempts may skip a number: one that could not be sent has no dispatch.
    if (attempt !== undefined && attempt <= last) throw new LogError(`it says attempt ${attempt}, behind attempt ${last}`, seq, 'LOG_DIFFERS')
  }

  /** In a step without a dispatch it belongs to no request: such a log was written by hand. */
  private answer({ seq, data: { dispatch } }: SessionEvent<'assistant/message'>): void {
    if (this.attempts.size === 0) return
    if (!this.attempts.has(dispatch)) throw new LogError(`it answers event ${dispatch}, which is no dispatch of its step`, seq, 'LOG_DIFFERS')
    if (!this.ended.has(dispatch)) throw new LogError(`it answers dispatch ${dispatch}, which has not ended`, seq, 'LOG_DIFFERS')
  }

  private start({ seq, data: { assistant, index } }: SessionEvent<'tool/start'>): void {
    const call = `${assistant}.${index}`
    if (this.started.has(call)) throw new LogError(`call ${index} of message ${assistant} starts a second time`, seq, 'LOG_DIFFERS')
    this.started.add(call)
  }
}
