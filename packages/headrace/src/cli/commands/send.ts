import * as desk from '@headrace/desk'
import type { Seat, Sent, SentResult } from '@headrace/desk'
import { HeadraceError, messageOf } from '@headrace/message'
import type { Cursor, Piece, SessionEvent, SessionStore } from '@headrace/session'
import type { Context } from 'cordis'
import { shutDown } from '../base/app.ts'
import { CANCELLED, CommandError, DONE, UsageError } from '../base/error.ts'
import { Interrupts } from '../base/interrupts.ts'
import { type StoreOptions, foldOf, sessionOf, storeOf } from '../base/store.ts'
import { type Summary, Tally } from '../base/tally.ts'
import { questions } from '../show/questions.ts'
import type { Terminal } from '../show/terminal.ts'
import { type Audience, Transcript, jsonLines } from '../show/transcript.ts'
import { askedOn, bootApp, bootSet, checkModel, configOf, exitCode, readPrompt } from './run.ts'

export interface SendCommand extends StoreOptions {
  /** The file of an app, instead of the usual set, for where this process drives the session. */
  readonly app?: string
  readonly baseUrl?: string
  readonly steer?: true
  readonly key?: string
  /** `false` leaves the letter. */
  readonly wait: boolean
  readonly yes?: true
  readonly json?: true
  readonly debug?: true
}

/**
 * `headrace send`: posts a prompt to a session, whoever drives it, and follows it to the end of its turn; drives the session where nobody
 * does. Returns the exit code.
 */
export async function send(what: string, words: readonly string[], options: SendCommand, terminal: Terminal): Promise<number> {
  if (options.app !== undefined && options.store !== undefined) throw new UsageError('where sessions are kept is said in the file of --app; leave --store out')
  const prompt = await readPrompt({ words, fromPipe: true })
  if (prompt === undefined) throw new UsageError('there is no prompt; give it as an argument, e.g. headrace send last "And the second test?", or pipe it into stdin')
  let app: Context | undefined
  let seat: Seat | undefined
  const interrupts = new Interrupts(() => terminal.warn(seat?.state === 'elsewhere'
    ? 'headrace: leaving; the turn goes on where it runs'
    : 'headrace: cancelling the turn; Ctrl-C once more leaves at once'))
  try {
    let store = options.app === undefined ? await storeOf(options) : undefined
    if (!options.wait && store) return await leave(store, await sessionOf(store, what), prompt, options, terminal)
    app = store
      ? await bootFor(store, await sessionOf(store, what), options, terminal)
      : await bootApp(options.app!, terminal, options.debug === true)
    store = app.sessions.current
    const id = await sessionOf(store, what)
    if (!options.wait) return await leave(store, id, prompt, options, terminal)
    await app.plugin(questions, { yes: options.yes === true, interrupt: () => interrupts.interrupt('SIGINT'), ...askedOn(process.stdin, process.stderr) })
    if (app.get('desk') === undefined) await app.plugin(desk, {})
    seat = await app.desk.open(id, { drive: false })
    const audience = options.json ? jsonLines(terminal) : new Transcript(terminal)
    return await follow(app, seat, prompt, options, { audience, terminal, stops: [interrupts.signal, terminal.closed] })
  } catch (error) {
    if (options.json && !(error instanceof UsageError)) {
      terminal.json({ type: 'result', reason: 'error', error: { code: error instanceof HeadraceError ? error.code : 'ERROR', message: messageOf(error) } })
    }
    throw error
  } finally {
    if (app) await shutDown(app, terminal)
    interrupts.stop()
  }
}

/** Leaves the letter, and says whether somebody runs it. */
async function leave(
  store: SessionStore, id: string, prompt: string, { steer, key, json }: SendCommand, terminal: Terminal,
): Promise<number> {
  const { letter, repeated } = await store.post(id, {
    kind: 'prompt', input: { role: 'user', content: [{ type: 'text', text: prompt }] }, ...(steer && { steer }), ...(key !== undefined && { key }),
  })
  // Behind the letter: who gives the session back now looks for it once more.
  const { holder } = await store.card(id)
  if (json) terminal.json({ type: 'sent', session: id, ...(letter !== undefined && { letter }), ...(repeated && { repeated }), ...(holder !== undefined && { holder }) })
  else if (repeated) terminal.note(`headrace: this key was sent before; nothing is sent again to session ${id}`)
  else terminal.note(`headrace: sent to session ${id}; ${holder === undefined ? `nobody runs it: headrace run --session ${id} --continue does` : `${holder} runs it`}`)
  return DONE
}

/** The usual set, able to drive the session. Where another process has it, that one's models count. */
async function bootFor(store: SessionStore, id: string, options: SendCommand, terminal: Terminal): Promise<Context> {
  const found = { id, fold: await foldOf(store, id) }
  const isHeld = (await store.card(id)).holder !== undefined
  try {
    const config = configOf(options, found)
    const app = await bootSet(config, options, terminal)
    if (!isHeld) checkModel(app, options, found, config)
    return app
  } catch (error) {
    if (!isHeld || !(error instanceof UsageError)) throw error
    return bootSet({}, options, terminal)
  }
}

interface Shown {
  readonly audience: Audience
  readonly terminal: Terminal
  /** Each ends the wait. */
  readonly stops: readonly AbortSignal[]
}

async function follow(app: Context, seat: Seat, prompt: string, { steer, key, json }: SendCommand, shown: Shown): Promise<number> {
  const { audience, terminal, stops } = shown
  const { at: from, holder } = await seat.card()
  const sent = await seat.send(prompt, { ...(steer && { steer }), ...(key !== undefined && { key }) })
  const { letter, repeated } = sent
  if (json) terminal.json({ type: 'sent', session: seat.id, ...(letter !== undefined && { letter }), ...(repeated && { repeated }), ...(holder !== undefined && { holder }) })
  else terminal.note(`session ${seat.id}, ${repeated ? 'sent before' : holder === undefined ? 'continued' : `run by ${holder}`}`)
  const tally = new Tally(seat.id, (model) => app.llm.info(model), app.sessions.current.location)
  const watched = new Watched(seat, sent, from, (event) => {
    tally.add(event)
    audience.event(event)
  }, (piece) => tellPiece(audience, piece))
  const result = await untilOver(seat, sent, watched, stops)
  if (result === 'left') {
    watched.end()
    const where = seat.state === 'elsewhere' ? 'it goes on where it runs' : `it waits in the log: headrace run --session ${seat.id} --continue goes on with it`
    terminal.warn(`headrace: ${where}`)
    if (json) terminal.json({ type: 'result', session: seat.id, reason: 'parked', error: { code: 'LEFT', message: where } })
    return CANCELLED
  }
  if (result.turn === undefined || repeated) watched.end()
  await watched.over
  if (result.error?.code === 'LETTER_REFUSED') throw new CommandError(`session ${seat.id} did not take it: ${result.error.message}`)
  if (repeated && !json) terminal.text(result.text)
  const summary = repeated ? summaryOf(seat.id, app.sessions.current.location, result) : tally.summary(result)
  audience.end(summary)
  return exitCode(summary)
}

/** Until the turn is over, or somebody stops the command: then the turn is cancelled where it runs here, and left where it does not. */
function untilOver(seat: Seat, sent: Sent, watched: Watched, stops: readonly AbortSignal[]): Promise<SentResult | 'left'> {
  return new Promise((resolve) => {
    const stop = (): void => {
      const { turn } = watched
      if (seat.state !== 'here' || turn === undefined) resolve('left')
      else void seat.cancel(turn, reasonOf(stops)).catch(() => resolve('left'))
    }
    for (const signal of stops) {
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop, { once: true })
    }
    void sent.result.then((result) => {
      for (const signal of stops) signal.removeEventListener('abort', stop)
      resolve(result)
    })
  })
}

function reasonOf(stops: readonly AbortSignal[]): string {
  const reason: unknown = stops.find(({ aborted }) => aborted)?.reason
  return typeof reason === 'string' ? reason : 'its output was closed'
}

/** Tells what is said in the turn that a prompt has, or joins. */
class Watched {
  /** Resolves with the end of the turn, or of the watching. */
  readonly over: Promise<void>
  /** The turn, while it runs. */
  turn: number | undefined
  private readonly controller = new AbortController()
  private readonly sent: Sent
  private readonly tell: (event: SessionEvent) => void
  private readonly tellPiece: (piece: Piece) => void
  private prompt: number | undefined
  private open: number | undefined

  constructor(seat: Seat, sent: Sent, from: Cursor | undefined, tell: (event: SessionEvent) => void, tellPiece: (piece: Piece) => void) {
    this.sent = sent
    this.tell = tell
    this.tellPiece = tellPiece
    this.over = this.watch(seat.follow({ ...(from !== undefined && { from }), signal: this.controller.signal }))
    this.over.catch(() => undefined)
  }

  end(): void {
    this.controller.abort()
  }

  private async watch(changes: ReturnType<Seat['follow']>): Promise<void> {
    for await (const change of changes) {
      if (change.type === 'piece' && this.turn !== undefined) this.tellPiece(change.piece)
      if (change.type === 'append') for (const event of change.events) if (this.take(event)) return
    }
  }

  /** True at the end of the turn. */
  private take(event: SessionEvent): boolean {
    if (event.type === 'prompt/queued' && event.data.letter !== undefined && event.data.letter === this.sent.letter) this.prompt = event.seq
    if (event.type === 'turn/start') this.open = event.data.turn
    const isMine = (event.type === 'turn/start' || event.type === 'user/message') && event.data.prompt === this.prompt && this.prompt !== undefined
    // A steer may join a turn that began before this command: the next to end.
    if (isMine) this.turn = this.open ?? 0
    if (this.turn !== undefined) this.tell(event)
    return this.turn !== undefined && event.type === 'turn/end'
  }
}

function tellPiece(audience: Audience, piece: Piece): void {
  if (piece.type === 'text' || piece.type === 'reasoning') audience.chunk({ type: piece.type, text: piece.text })
  else audience.piece(piece)
}

function summaryOf(session: string, store: string | undefined, { turn: _, ...result }: SentResult): Summary {
  return { session, ...(store !== undefined && { store }), turns: 1, ...result }
}
