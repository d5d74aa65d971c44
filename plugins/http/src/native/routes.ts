import type { Seat, SeatQuestion } from '@headrace/desk'
import type { Json } from '@headrace/message'
import { type Cursor, parseCursor } from '@headrace/session'
import { fieldsIfAny, fieldsOf, keyOf, numberField, promptText, textField } from '../body.ts'
import { type Said, SharedBytes, message } from '../event-stream.ts'
import { Problem, invalid } from '../problem.ts'
import type { Asked, Parts, Route } from '../router.ts'
import { streamOf } from '../stream.ts'
import { giveAnswer } from './answer.ts'
import { shownCard, shownQuestion } from './shown.ts'

/** The native API: sessions as they are, with the store's cursor as the id of each event. */
export function sessionRoutes(parts: Parts): readonly Route[] {
  const { settings, sessions, ctx } = parts
  const seatOf = ({ user, params }: Asked): Promise<Seat> => sessions.open(user, params.id!)

  const send = async (asked: Asked, steer: boolean): Promise<Response> => {
    const fields = await fieldsOf(asked.request, settings.maxBody, ['prompt', 'model'])
    const prompt = promptText(fields.prompt, settings.maxPrompt)
    const [model, key] = [textField(fields, 'model'), keyOf(asked.request)]
    const { letter, repeated } = await sessions.send(asked.user, await seatOf(asked), prompt, {
      ...(steer && { steer }), ...(key !== undefined && { key }), ...(model !== undefined && { config: { model } }),
    })
    return Response.json({ ...(letter !== undefined && { letter }), ...(repeated && { repeated }) }, { status: 202 })
  }

  const stream = async (asked: Asked, told: Telling): Promise<Response> => {
    const from = cursorIn(asked)
    const seat = await seatOf(asked)
    return streamOf(parts, asked, seat, (signal) => told(seat, from, signal))
  }

  return [
    ['GET', '/sessions', async ({ user }) => Response.json({ sessions: (await sessions.list(user)).map(shownCard) })],
    ['POST', '/sessions', async ({ user, request }) => {
      const fields = await fieldsIfAny(request, settings.maxBody, ['title', 'model'])
      const seat = await sessions.create(user, { title: textField(fields, 'title'), model: textField(fields, 'model') }, keyOf(request))
      return Response.json({ id: seat.id }, { status: 201 })
    }],
    ['GET', '/sessions/:id', async (asked) => {
      const seat = await seatOf(asked)
      return Response.json({ ...shownCard(await seat.card()), questions: seat.questions.map((question) => shownQuestion(ctx, question)) })
    }],
    ['DELETE', '/sessions/:id', async ({ user, params }) => {
      await sessions.remove(user, params.id!)
      return new Response(null, { status: 204 })
    }],
    ['GET', '/sessions/:id/events', (asked) => stream(asked, events)],
    ['GET', '/sessions/:id/items', (asked) => stream(asked, items)],
    ['POST', '/sessions/:id/prompt', (asked) => send(asked, false)],
    ['POST', '/sessions/:id/steer', (asked) => send(asked, true)],
    ['POST', '/sessions/:id/cancel', async (asked) => {
      const fields = await fieldsOf(asked.request, settings.maxBody, ['turn', 'reason'])
      const seat = await seatOf(asked)
      const running = await runningTurn(seat)
      const turn = numberField(fields, 'turn') ?? running
      if (turn === undefined || turn !== running) throw new Problem(404, 'NO_TURN', 'that turn does not run')
      await seat.cancel(turn, textField(fields, 'reason') ?? 'cancelled by its user')
      return new Response(null, { status: 204 })
    }],
    ['POST', '/sessions/:id/answer', async (asked) => {
      const fields = await fieldsOf(asked.request, settings.maxBody, ['question', 'answer', 'session', 'remember'])
      const question = numberField(fields, 'question')
      if (question === undefined) throw invalid('an answer names its question: { "question": 12, "answer": "allow" }')
      if (fields.answer === undefined) throw invalid('the body has no answer')
      const seat = await seatOf(asked)
      const named = questionIn(seat, question, textField(fields, 'session'))
      const repeated = await giveAnswer(ctx, seat, named, fields.answer as Json, fields.remember as Json | undefined)
      return Response.json({ ...(repeated && { repeated }) })
    }],
  ]
}

/** What a stream tells of a session, from a cursor on. */
type Telling = (seat: Seat, from: Cursor | undefined, signal: AbortSignal) => AsyncGenerator<Said>

/** The question that an answer names: of the session itself, or of one that works for it. @throws Problem */
function questionIn(seat: Seat, question: number, session: string | undefined): number | SeatQuestion {
  if (session === undefined || session === seat.id) return question
  const found = seat.questions.find((one) => one.session === session && one.seq === question)
  if (!found) throw new Problem(409, 'QUESTION_CLOSED', 'the question is closed: it was answered, or its call has ended')
  return found
}

/** The number of the turn that is open: by the log where it is at hand, for a card may be a moment behind. */
export async function runningTurn(seat: Seat): Promise<number | undefined> {
  const session = seat.agent?.session
  for (let seq = (session?.length ?? 0) - 1; session && seq >= session.first; seq--) {
    const event = session.at(seq)
    if (event?.type === 'turn/end') return undefined
    if (event?.type === 'turn/start') return event.data.turn
  }
  const { turn } = await seat.card()
  return turn && turn.reason === undefined ? turn.number : undefined
}

/** The cursor behind which a reader goes on. @throws Problem */
function cursorIn({ request, url }: Asked): Cursor | undefined {
  const given = request.headers.get('last-event-id') || url.searchParams.get('after') || undefined
  if (given === undefined) return undefined
  if (!parseCursor(given)) throw new Problem(400, 'CURSOR_INVALID', 'after and Last-Event-ID take the id of an event of this stream, such as 12.0a1b2c3d')
  return given as Cursor
}

const shared = new SharedBytes()

/**
 * Characters of what is said live that a slow reader may have missed and is still told: of more it gets the whole with its append. So a
 * hundred of them do not each copy a long answer.
 */
const WAITED = 262_144

/** The log as it is appended, an append each, and pieces of what is said live. */
async function* events(seat: Seat, from: Cursor | undefined, signal: AbortSignal): AsyncGenerator<Said> {
  yield 'retry: 1000\n\n'
  for await (const told of seat.follow({ signal, ...(from !== undefined && { from }) })) {
    if (told.type === 'append') yield shared.of(`${seat.id} ${told.events[0]!.seq} ${told.cursor}`, () => message('append', { events: told.events }, told.cursor))
    else if (told.type === 'piece') yield told.piece.text.length > WAITED ? message('skipped', {}) : message('piece', told.piece)
    else yield message('reset', {}, '')
  }
}

/** The same as changes of items. */
async function* items(seat: Seat, from: Cursor | undefined, signal: AbortSignal): AsyncGenerator<Said> {
  yield 'retry: 1000\n\n'
  for await (const told of seat.items({ signal, ...(from !== undefined && { from }) })) {
    if (told.type === 'items') yield message('items', { changes: told.changes }, told.cursor)
    else yield message('reset', {}, '')
  }
}
