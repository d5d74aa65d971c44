import { isDeepStrictEqual } from 'node:util'
import type { Seat, SeatQuestion } from '@headrace/desk'
import type { Json } from '@headrace/message'
import type { Context } from 'cordis'
import { problemOf } from '../problem.ts'

/**
 * Answers a question. Who sends the same answer again, because the connection was cut before they heard, is told that it stands.
 *
 * @returns true where the same answer stood already
 * @throws Problem for a question that is closed, or an answer that is none
 */
export async function giveAnswer(
  ctx: Context, seat: Seat, question: number | SeatQuestion, answer: Json, remember?: Json,
): Promise<boolean> {
  try {
    await seat.answer(question, answer, remember === undefined ? {} : { remember })
    return false
  } catch (error) {
    const [session, seq] = typeof question === 'number' ? [seat.id, question] : [question.session, question.seq]
    if (problemOf(error)?.code === 'QUESTION_CLOSED' && await stands(ctx, session, seq, answer)) return true
    throw error
  }
}

/** Whether the answer that counts is this one, and a person's. */
async function stands(ctx: Context, session: string, question: number, answer: Json): Promise<boolean> {
  for await (const batch of ctx.sessions.current.read(session, question, Infinity)) {
    for (const event of batch) {
      if (event.type === 'question/answered' && event.data.question === question) return event.data.by === 'user' && isDeepStrictEqual(event.data.answer, answer)
    }
  }
  return false
}
