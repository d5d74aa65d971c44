import * as agentPlugin from '@headrace/agent'
import { messageOf, textOf } from '@headrace/message'
import { Fold, type SessionCard, type SessionStore, type TurnReason } from '@headrace/session'
import { Context } from 'cordis'
import { DONE, UsageError } from '../base/error.ts'
import { type StoreOptions, findLog, storeOf } from '../base/store.ts'
import { brief, shownSize, table } from '../base/text.ts'
import type { Terminal } from '../show/terminal.ts'

export interface SessionsOptions extends StoreOptions {
  readonly json?: true
}

/** `headrace sessions`: newest first. A log that cannot be read stands in the list with its error. */
export async function sessions({ json, ...where }: SessionsOptions, terminal: Terminal): Promise<number> {
  const store = await storeOf(where)
  const rows: string[][] = []
  for await (const info of store.list()) {
    const state = await stateOf(store, info)
    const { id, modified, size, open } = info
    if (json) terminal.json({ id, modified, size, ...(open && { cwd: open.cwd, parent: open.parent }), ...state })
    else rows.push([id, shownTime(modified), shownSize(size), shownState(state), open?.cwd ?? '-', state.error === undefined ? brief(state.prompt ?? '(no prompt yet)', 80) : `! ${brief(state.error, 300)}`])
  }
  if (rows.length > 0) for (const line of table([['session', 'changed', 'size', 'state', 'folder', 'first prompt'], ...rows])) terminal.print(line)
  else if (!json) terminal.note('there is no session yet; begin one with: headrace run "<prompt>"')
  return DONE
}

/** `headrace sessions rm`. */
export async function removeSession(id: string, where: StoreOptions, terminal: Terminal): Promise<number> {
  await (await storeOf(where)).remove(id)
  terminal.note(`removed session ${id}`)
  return DONE
}

interface State {
  /** `open` while a turn is, or something is owed; else how the last turn ended. Absent before the first. */
  readonly state?: 'open' | TurnReason
  /** Prompts that wait. */
  readonly queued?: number
  /** The first one. */
  readonly prompt?: string
  readonly error?: string
}

async function stateOf(store: SessionStore, { id, error }: SessionCard): Promise<State> {
  if (error !== undefined) return { error }
  let prompt: string | undefined
  let reason: TurnReason | undefined
  const fold = new Fold()
  try {
    for await (const batch of store.load(id)) {
      for (const event of batch) {
        fold.apply(event)
        if (event.type === 'prompt/queued') prompt ??= textOf(event.data.input)
        if (event.type === 'turn/end') reason = event.data.reason
      }
    }
  } catch (damaged) {
    return { error: messageOf(damaged) }
  }
  const { turn, owed, queue } = fold.ledger
  const state = turn || owed ? 'open' : reason
  return { ...(state !== undefined && { state }), queued: queue.length, ...(prompt !== undefined && { prompt }) }
}

/** `open, 2 queued`. */
function shownState({ state, queued = 0 }: State): string {
  return [...(state === undefined ? [] : [state]), ...(queued > 0 ? [`${queued} queued`] : [])].join(', ') || '-'
}

function shownTime(time: number): string {
  const date = new Date(time)
  const two = (number: number): string => String(number).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

export interface RewindCommand extends StoreOptions {
  readonly turns?: string
  readonly to?: string
}

/** `headrace sessions rewind`: takes a session back; what its last process left open is closed first, and prompts that wait are withdrawn. */
export async function rewindSession(what: string, { turns, to, ...where }: RewindCommand, terminal: Terminal): Promise<number> {
  if (turns !== undefined && to !== undefined) throw new UsageError('--turns and --to name two points; give one of them')
  const target = to === undefined ? { turns: count('--turns', turns ?? '1') } : { to: count('--to', to) }
  const store = await storeOf(where)
  const id = (await findLog(store, what)).name
  const app = new Context()
  await app.plugin(agentPlugin)
  app.sessions.store(store)
  try {
    const agent = await app.agents.resume(id, { turn: 'close' })
    const from = agent.session.length
    const { data: { turn } } = await agent.rewind({ ...target, queue: 'withdraw', reason: 'headrace sessions rewind' })
    const withdrawn = [...agent.session.events(from)].filter(({ type }) => type === 'prompt/withdrawn').length
    const standing = agent.session.turns.length
    terminal.note(`session ${id} is back where turn ${turn} began; ${standing} turn${standing === 1 ? ' stands' : 's stand'}${withdrawn > 0 ? `, ${withdrawn} that waited ${withdrawn === 1 ? 'was' : 'were'} withdrawn` : ''}`)
    return DONE
  } finally {
    await app.fiber.dispose()
  }
}

function count(option: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`${option} must be a whole number from 1`)
  return Number(text)
}
