import { createHash } from 'node:crypto'
import type { Seat } from '@headrace/desk'
import type { ContentInput } from '@headrace/message'
import type { SessionEvent, SessionStore } from '@headrace/session'
import { jsonOf } from '../body.ts'
import { message } from '../event-stream.ts'
import { giveAnswer } from '../native/answer.ts'
import { runningTurn } from '../native/routes.ts'
import { Problem, invalid, problemOf } from '../problem.ts'
import type { Asked, Parts, Route } from '../router.ts'
import { streamOf } from '../stream.ts'
import { type TurnRequest, type TurnTold, cursorAt, followTurn, isOpenQuestion } from '../turn-stream.ts'
import { type Approval, type ChatBody, chatBody, contentOf } from './body.ts'
import type { UiChunk } from './chunk.ts'
import { uiMessagesOf } from './messages.ts'
import { type KnownPrompt, messageIdOf, promptsOf } from './prompts.ts'
import { TurnChunks } from './turn-chunks.ts'

const HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' }

/** Which turn is told, from where on. */
interface Told {
  readonly turn: TurnRequest
  /** An event in front of the turn. */
  readonly from: number
  /** The newest question that the client has answered: what stands up to it, it has. */
  readonly after?: number
}

/** The UI message stream of the AI SDK, for `useChat` and `DefaultChatTransport` with `api: '/chat'`. */
export function chatRoutes(parts: Parts): readonly Route[] {
  const { settings, sessions } = parts
  const door = new ChatDoor(parts)
  return [
    ['POST', '/chat', async (asked) => {
      const body = chatBody(await jsonOf(asked.request, settings.maxBody))
      const isNew = body.trigger === 'submit-message' && body.approvals.length === 0
      const seat = isNew ? await sessions.create(asked.user, { id: body.id }) : await sessions.open(asked.user, body.id)
      if (body.approvals.length > 0) return door.approve(asked, seat, body.approvals)
      return body.trigger === 'submit-message' ? door.submit(asked, seat, body) : door.regenerate(asked, seat, body)
    }],
    ['GET', '/chat/:id/stream', async (asked) => {
      const seat = await sessions.open(asked.user, asked.params.id!)
      const turn = await runningTurn(seat)
      if (turn !== undefined) return door.stream(asked, seat, { turn: { turn }, from: await startOf(door.store, seat.id, turn) - 1 })
      // A card may be a moment behind.
      const queued = seat.agent?.session.queue.length ?? (await seat.card()).queued
      const isPosted = (await door.store.letters(seat.id)).some(({ kind }) => kind === 'prompt')
      if (queued === 0 && !isPosted) return new Response(null, { status: 204 })
      return door.stream(asked, seat, { turn: 'next', from: await lastEnd(door.store, seat.id) })
    }],
    ['GET', '/chat/:id/messages', async ({ user, params }) => {
      const seat = await sessions.open(user, params.id!)
      return Response.json(await uiMessagesOf(door.store, seat.id))
    }],
    // Not what closing the stream does: that is a reader who goes away.
    ['POST', '/chat/:id/stop', async ({ user, params }) => {
      const seat = await sessions.open(user, params.id!)
      const turn = await runningTurn(seat)
      if (turn !== undefined) await seat.cancel(turn, 'stopped by its user')
      return new Response(null, { status: 204 })
    }],
  ]
}

/** What a chat may ask for: new words, the last answer anew, and answers to questions. Each is answered by the stream of a turn. */
class ChatDoor {
  private readonly parts: Parts

  constructor(parts: Parts) {
    this.parts = parts
  }

  get store(): SessionStore {
    return this.parts.ctx.sessions.current
  }

  async stream(asked: Asked, seat: Seat, told: Told): Promise<Response> {
    const { store } = this
    const from = await cursorAt(store, seat.id, told.from)
    return streamOf(this.parts, asked, seat, async function* (signal) {
      const mapped = mapTurn(seat, told, followTurn(seat, told.turn, from, signal), (question) => isOpenQuestion(store, seat.id, question))
      for await (const chunk of mapped) yield message(undefined, chunk)
      if (!signal.aborted) yield message(undefined, '[DONE]')
    }, HEADERS)
  }

  async send(asked: Asked, seat: Seat, content: ContentInput, key: string): Promise<Response> {
    const sent = await this.parts.sessions.send(asked.user, seat, content, { key })
    const prompt = await sent.logged
    return this.stream(asked, seat, { turn: { prompt }, from: prompt })
  }

  /** Answers the newest prompt of a client's message, or of other words in its place. */
  async submit(asked: Asked, seat: Seat, { prompt }: ChatBody): Promise<Response> {
    if (!prompt) throw invalid('there is no message of the user')
    const content = await contentOf(prompt.parts, this.store, seat.id, this.parts.settings.maxPrompt)
    const known = newest(await promptsOf(this.store, seat.id), prompt.key)
    if (!known) return this.send(asked, seat, content, prompt.key)
    const key = known.key
    try {
      return await this.send(asked, seat, content, key)
    } catch (error) {
      if (problemOf(error)?.code !== 'KEY_TAKEN') throw error
    }
    await rewind(seat, known)
    return this.send(asked, seat, content, `${prompt.key}#e${digestOf(known.key, content)}`)
  }

  async regenerate(asked: Asked, seat: Seat, { prompt, messageId }: ChatBody): Promise<Response> {
    if (!prompt) throw invalid('there is no message of the user')
    const prompts = await promptsOf(this.store, seat.id)
    const known = newest(prompts, prompt.key)
    if (!known) throw new Problem(404, 'MESSAGE_NOT_FOUND', 'the session has no such message')
    const replaced = messageId === undefined ? undefined : turnIn(seat, messageId)
    // Asked again, because the client did not hear: the answer that took its place is the newest.
    const again = replaced !== undefined && prompts.find(({ key }) => key === `${prompt.key}#r${replaced}`)
    if (again) return this.stream(asked, seat, { turn: { prompt: again.seq }, from: again.seq })
    await rewind(seat, known)
    return this.send(asked, seat, known.input.content, `${prompt.key}#r${known.turn ?? 0}`)
  }

  async approve(asked: Asked, seat: Seat, approvals: readonly Approval[]): Promise<Response> {
    const turn = await runningTurn(seat) ?? seat.agent?.session.turns.at(-1)?.turn ?? (await seat.card()).turn?.number
    if (turn === undefined) throw new Problem(409, 'QUESTION_CLOSED', 'the question is closed: no turn runs')
    for (const { session, question, approved, reason } of approvals) {
      if (session !== seat.id) throw new Problem(409, 'QUESTION_CLOSED', 'the question is of another session')
      await giveAnswer(this.parts.ctx, seat, question, approved ? 'allow' : reason ? { deny: reason } : 'deny')
    }
    const after = Math.max(...approvals.map(({ question }) => question))
    const start = await startOf(this.store, seat.id, turn)
    if (after < start) throw new Problem(409, 'QUESTION_CLOSED', 'the question is closed: its turn is over')
    return this.stream(asked, seat, { turn: { turn }, from: start - 1, after })
  }
}

/** One turn as chunks. Ends where a person is asked: the answer comes with another request. */
async function* mapTurn(
  seat: Seat, { after }: Told, told: AsyncIterable<TurnTold>, isOpen: (question: number) => Promise<boolean>,
): AsyncGenerator<UiChunk> {
  let chunks: TurnChunks | undefined
  /** What the client has is made again, and not told. */
  let isKnown = after !== undefined
  for await (const item of told) {
    if (item.type === 'withdrawn') {
      yield* [{ type: 'start', messageId: `${seat.id}.withdrawn` }, { type: 'abort', reason: 'withdrawn' }, { type: 'finish', finishReason: 'other' }] satisfies UiChunk[]
      return
    }
    if (item.type === 'begin') {
      chunks = new TurnChunks(seat.id, item.turn)
      yield chunks.start()
      continue
    }
    if (item.type === 'changes') {
      const made = chunks!.take(item.changes)
      if (!isKnown) yield* made
      continue
    }
    const { event } = item
    if (event.seq === after) isKnown = false
    else if (event.type === 'question/asked' && event.data.kind === 'permission' && !isKnown && await isOpen(event.seq)) {
      yield { type: 'finish', finishReason: 'tool-calls' }
      return
    }
    if (event.type === 'turn/end') yield* chunks!.end(event)
  }
}

/** The newest prompt that was made of a message of the client's. */
function newest(prompts: readonly KnownPrompt[], id: string): KnownPrompt | undefined {
  return prompts.findLast(({ key }) => messageIdOf(key) === id)
}

/** The history becomes what it was before the prompt's turn, or the prompt is taken back. */
async function rewind(seat: Seat, { turn, seq }: KnownPrompt): Promise<void> {
  if (turn === undefined) {
    await seat.withdraw(seq, 'other words took its place')
    return
  }
  const agent = await seat.drive()
  await agent.rewind({ to: turn, cancel: true })
}

function turnIn(seat: Seat, messageId: string): number | undefined {
  const [, turn] = messageId.startsWith(`${seat.id}.t`) ? /\.t(\d{1,15})$/.exec(messageId) ?? [] : []
  return turn === undefined ? undefined : Number(turn)
}

function digestOf(key: string, content: ContentInput): string {
  return createHash('sha256').update(JSON.stringify([key, content])).digest('hex').slice(0, 16)
}

/** The seq of a turn's first event. Reads the log, from behind. */
async function startOf(store: SessionStore, id: string, turn: number): Promise<number> {
  return await findLast(store, id, (event) => event.type === 'turn/start' && event.data.turn === turn) ?? 0
}

/** The seq of the newest end of a turn; -1 where none has ended. */
async function lastEnd(store: SessionStore, id: string): Promise<number> {
  return await findLast(store, id, ({ type }) => type === 'turn/end') ?? -1
}

async function findLast(store: SessionStore, id: string, isIt: (event: SessionEvent) => boolean): Promise<number | undefined> {
  let found: number | undefined
  for await (const batch of store.load(id)) for (const event of batch) if (isIt(event)) found = event.seq
  return found
}
