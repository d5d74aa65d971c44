import { type ItemChange, type Seat, itemFold } from '@headrace/desk'
import { type Cursor, type SessionEvent, type SessionStore, cursorOf } from '@headrace/session'

/** Which turn: that of a prompt, by its seq; one by its number; or the next that begins. */
export type TurnRequest = { readonly prompt: number } | { readonly turn: number } | 'next'

/** What a turn tells: that it begins, changes of its items, and each event, behind the changes it made. */
export type TurnTold =
  | { readonly type: 'begin'; readonly turn: number }
  | { readonly type: 'changes'; readonly changes: readonly ItemChange[] }
  | { readonly type: 'event'; readonly event: SessionEvent }
  /** The prompt has no turn: it was taken back. */
  | { readonly type: 'withdrawn' }

/**
 * Follows one turn, from its first event, live or long over: an event at a time, so that what is told of the log is in the order in which
 * it was told live. Ends behind its `turn/end`.
 *
 * @param from a cursor in front of the turn
 */
export async function* followTurn(
  seat: Seat,
  request: TurnRequest,
  from: Cursor | undefined,
  signal: AbortSignal,
): AsyncGenerator<TurnTold> {
  const fold = itemFold()
  let turn: number | undefined
  let isSteer = false
  for await (const told of seat.follow({ signal, ...(from !== undefined && { from }) })) {
    // The log is another one: what was told does not count, and nothing here can take it back.
    if (told.type === 'reset') return
    if (told.type === 'piece') {
      const changes = fold.piece(told.piece)
      if (turn !== undefined) yield { type: 'changes', changes }
      continue
    }
    for (const event of told.events) {
      if (turn === undefined && event.type === 'prompt/withdrawn' && event.data.prompt === promptOf(request)) {
        yield { type: 'withdrawn' }
        return
      }
      if (turn === undefined && isBeginning(event, request)) {
        turn = event.data.turn
        yield { type: 'begin', turn }
      }
      const changes = fold.append([event])
      if (turn === undefined) {
        isSteer ||= event.type === 'user/message' && event.data.prompt === promptOf(request)
        // A steer joined a turn that had begun: there is nothing of its own to tell.
        if (isSteer && event.type === 'turn/end') {
          yield { type: 'withdrawn' }
          return
        }
        continue
      }
      if (changes.length > 0) yield { type: 'changes', changes }
      yield { type: 'event', event }
      if (event.type === 'turn/end' && event.data.turn === turn) return
    }
  }
}

function isBeginning(event: SessionEvent, request: TurnRequest): event is SessionEvent<'turn/start'> {
  if (event.type !== 'turn/start') return false
  return request === 'next' || ('turn' in request ? event.data.turn === request.turn : event.data.prompt === request.prompt)
}

function promptOf(request: TurnRequest): number | undefined {
  return typeof request === 'object' && 'prompt' in request ? request.prompt : undefined
}

/** The cursor of an event; undefined where the log does not have it. */
export async function cursorAt(store: SessionStore, id: string, seq: number): Promise<Cursor | undefined> {
  if (seq < 0) return undefined
  for await (const [event] of store.read(id, seq, seq + 1)) if (event) return cursorOf(id, event)
  return undefined
}

/** Whether a question waits for its answer, by its log. */
export async function isOpenQuestion(store: SessionStore, id: string, question: number): Promise<boolean> {
  let asked: SessionEvent<'question/asked'> | undefined
  for await (const batch of store.read(id, question, Infinity)) {
    for (const event of batch) {
      if (event.seq === question && event.type === 'question/asked') asked = event
      if (!asked) return false
      if (event.type === 'question/answered' && event.data.question === question) return false
      if (event.type === 'tool/result' && event.data.assistant === asked.data.assistant && event.data.index === asked.data.index) return false
      if (event.type === 'turn/end') return false
    }
  }
  return asked !== undefined
}
