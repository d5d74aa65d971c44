import { type Agent, AgentError } from '@headrace/agent'
import { checkOption, checkOptions } from '@headrace/agent/internal'
import { type ContentInput, type Json, isBlank, toContent, toConfigPatch } from '@headrace/message'
import { type Cursor, type LetterDraft, type Posted, type SessionCard, type SessionEvent, type SessionStore, parseCursor } from '@headrace/session'
import type { Context } from 'cordis'
import type { Desk } from './desk.ts'
import type { Life } from './life.ts'
import { closedBy, closing } from './log.ts'
import type { Seat, SeatChange, SeatFollowOptions, SeatItems, SeatQuestion, SendOptions, Sent } from './seat.ts'
import { seatItems } from './seat-items.ts'
import { SentPrompt } from './sent.ts'
import { told } from './told.ts'

/** A letter that was posted, and from where on the log can name it. */
interface PostedAt {
  readonly posted: Posted
  readonly from: Cursor | undefined
  readonly store: SessionStore
}

/** A {@link Seat} as one plugin, or the app, has it: what is registered through it goes with that plugin. */
export class SeatView implements Seat {
  readonly id: string
  readonly #desk: Desk
  readonly #caller: Context

  constructor(id: string, desk: Desk, caller: Context) {
    this.id = id
    this.#desk = desk
    this.#caller = caller
    Object.freeze(this)
  }

  get state(): 'here' | 'elsewhere' | 'parked' {
    const { agent, isElsewhere } = this.#life
    return agent ? 'here' : isElsewhere ? 'elsewhere' : 'parked'
  }

  get agent(): Agent | undefined {
    const { agent } = this.#life
    return agent && viewOf(this.#caller, agent)
  }

  async send(input: ContentInput, options: SendOptions = {}): Promise<Sent> {
    checkOptions('seat.send', options, ['steer', 'key', 'config', 'output'])
    const { steer, key, config, output } = options
    checkOption('seat.send', steer === undefined || typeof steer === 'boolean', 'has steer: true or false')
    const message = { role: 'user' as const, content: toContent(input, 'prompt') }
    if (isBlank(message)) throw new AgentError('PROMPT_EMPTY', 'the prompt is empty; say what the agent should do')
    const { posted, from, store } = await this.#post(this.id, {
      kind: 'prompt', input: message, ...(steer && { steer }), ...(key !== undefined && { key }),
      ...(config && { config: toConfigPatch(config, 'prompt') }), ...(output && { output }),
    })
    const life = this.#life
    void life.reach()
    return new SentPrompt({ store, id: this.id, posted, from, wait: (fail) => life.wait(fail) })
  }

  async *follow(options: SeatFollowOptions = {}): AsyncGenerator<SeatChange> {
    checkOptions('seat.follow', options, ['from', 'signal'])
    const { from, signal } = options
    yield* told({
      events: (until) => this.#store.follow(this.id, { signal: until, ...(from !== undefined && { from }) }),
      listen: (listener) => this.#life.listen(listener),
      seen: from === undefined ? -1 : parseCursor(from)?.seq ?? -1,
      signals: [this.#desk.closing, ...(signal ? [signal] : [])],
    })
  }

  async *items(options: SeatFollowOptions = {}): AsyncGenerator<SeatItems> {
    checkOptions('seat.items', options, ['from', 'signal'])
    const { from, signal } = options
    const follow = (cursor: Cursor | undefined): AsyncIterable<SeatChange> => (
      this.follow({ ...(cursor !== undefined && { from: cursor }), ...(signal && { signal }) })
    )
    yield* seatItems({ id: this.id, store: this.#store, from, follow })
  }

  get questions(): readonly SeatQuestion[] {
    return this.#desk.below(this.id).flatMap(({ id: session, questions }) => questions.map((question) => ({ ...question, session })))
  }

  async answer(question: number | SeatQuestion, answer: Json, options: { readonly remember?: Json } = {}): Promise<void> {
    checkOptions('seat.answer', options, ['remember'])
    const [id, seq] = typeof question === 'number' ? [this.id, question] : [question.session, question.seq]
    const { remember } = options
    const { posted, from, store } = await this.#post(id, { kind: 'answer', question: seq, answer, ...(remember !== undefined && { remember }) })
    const isOwn = id === this.id
    // A session under this one is driven by the call it works for, and takes answers while it asks.
    if (isOwn) void this.#life.reach()
    else if (!this.#desk.below(this.id).some((agent) => agent.id === id)) throw await closedError(store, id, seq)
    const asked = await eventAt(store, id, seq)
    let other: string | undefined
    await this.#until({ store, id, from }, async (event) => {
      if (letterIn(event) === posted.letter) {
        if (event.type !== 'letter/refused') return true
        const isClosed = await closedBy(store, id, seq) !== undefined
        throw new AgentError(isClosed ? 'QUESTION_CLOSED' : 'ANSWER_INVALID', event.data.reason)
      }
      other = asked?.type === 'question/asked' ? closing(asked, event) : undefined
      if (other !== undefined) throw new AgentError('QUESTION_CLOSED', other)
      return undefined
    })
  }

  async cancel(turn?: number, reason = 'cancelled by the user'): Promise<void> {
    const number = turn ?? await this.#openTurn()
    if (number === undefined) return
    await this.#post(this.id, { kind: 'cancel', turn: number, reason: reason.toWellFormed() })
    void this.#life.reach()
  }

  async withdraw(prompt: number, reason = 'withdrawn by the user'): Promise<boolean> {
    const { posted, from, store } = await this.#post(this.id, { kind: 'withdraw', prompt, reason: reason.toWellFormed() })
    void this.#life.reach()
    return this.#until({ store, id: this.id, from }, async (event) => {
      if (letterIn(event) === posted.letter) return event.type === 'prompt/withdrawn'
      const isTaken = (event.type === 'turn/start' || event.type === 'user/message' || event.type === 'prompt/withdrawn') && event.data.prompt === prompt
      return isTaken ? false : undefined
    })
  }

  attend(): () => void {
    return this.#caller.effect(() => this.#desk.attend(this.id), 'seat.attend()')
  }

  async drive(): Promise<Agent> {
    return viewOf(this.#caller, await this.#life.drive())
  }

  async park(): Promise<void> {
    const life = this.#life
    await life.alone(() => life.park())
  }

  card(): Promise<SessionCard> {
    return this.#store.card(this.id)
  }

  get #life(): Life {
    return this.#desk.lifeOf(this.id)
  }

  get #store(): SessionStore {
    return this.#desk.store()
  }

  /** Posts a letter, and says from where on the log can name it. */
  async #post(id: string, letter: LetterDraft): Promise<PostedAt> {
    const store = this.#store
    const { at } = await store.card(id)
    return { posted: await store.post(id, letter), from: at, store }
  }

  /** Looks at what is appended, until an event decides. @throws what `look` throws; AgentError where nobody goes on with the session */
  async #until<T>(
    { store, id, from }: Pick<PostedAt, 'store' | 'from'> & { readonly id: string },
    look: (event: SessionEvent) => Promise<T | undefined>,
  ): Promise<T> {
    const end = new AbortController()
    let failure: unknown
    // A session under this one is driven by the call it works for, and by nobody else.
    const fail = (error: unknown): void => {
      failure ??= error
      end.abort()
    }
    const over = id === this.id ? this.#life.wait(fail) : this.#desk.onClose(id, fail)
    try {
      for await (const item of store.follow(id, { signal: end.signal, ...(from !== undefined && { from }) })) {
        if ('reset' in item) continue
        for (const event of item.events) {
          const found = await look(event)
          if (found !== undefined) return found
        }
      }
      throw failure
    } finally {
      end.abort()
      over()
    }
  }

  /** The turn that runs, or was left open. */
  async #openTurn(): Promise<number | undefined> {
    const session = this.#life.agent?.session
    if (!session) {
      const { turn } = await this.card()
      return turn?.reason === undefined ? turn?.number : undefined
    }
    for (let seq = session.length - 1; seq >= session.first; seq--) {
      const event = session.at(seq)
      if (event?.type === 'turn/start') return event.data.turn
      if (event?.type === 'turn/end') return undefined
    }
    return undefined
  }
}

/** The agent as the plugin of a context sees it. */
export function viewOf(caller: Context, agent: Agent): Agent {
  return caller.get('agents')?.get(agent.id) ?? agent
}

function letterIn({ data }: SessionEvent): string | undefined {
  return (data as { readonly letter?: string }).letter
}

async function eventAt(store: SessionStore, id: string, seq: number): Promise<SessionEvent | undefined> {
  for await (const [event] of store.read(id, seq, seq + 1)) return event
  return undefined
}

async function closedError(store: SessionStore, id: string, question: number): Promise<AgentError> {
  const words = await closedBy(store, id, question)
  return new AgentError('QUESTION_CLOSED', words ?? `question ${question} is of session ${id}, which nobody drives here`)
}
