import { textOf } from '@headrace/message'
import type { Session } from '@headrace/session'

/** The text of the newest answer since an event: of the last `assistant/message`, or of the result that ended the turn behind it. */
export function answerText(session: Session, from: number): string | undefined {
  let ending: { readonly index: number; readonly text: string } | undefined
  for (let seq = session.length - 1; seq >= from; seq--) {
    const event = session.at(seq)
    if (event?.type === 'assistant/message') return ending?.text ?? textOf(event.data.message)
    // Of several in a batch, the last in call order.
    if (event?.type === 'tool/result' && event.data.endTurn && !(ending && ending.index > event.data.index)) {
      ending = { index: event.data.index, text: textOf(event.data.message.content[0]) }
    }
  }
  return ending?.text
}
