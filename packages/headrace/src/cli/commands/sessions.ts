import * as agentPlugin from '@headrace/agent'
import type { SessionCard, TurnReason } from '@headrace/session'
import { Context } from 'cordis'
import { DONE, UsageError } from '../base/error.ts'
import { type StoreOptions, findLog, storeOf } from '../base/store.ts'
import { brief, shownSize, table } from '../base/text.ts'
import type { Terminal } from '../show/terminal.ts'

export interface SessionsOptions extends StoreOptions {
  readonly json?: true
}

/** Rows that are aligned and printed together, so that the first of many sessions need not wait for the last. */
const BLOCK = 100

/**
 * `headrace sessions`: newest first, from cards, without a look into the logs. One that cannot be read stands in the
 * list with its error.
 */
export async function sessions({ json, ...where }: SessionsOptions, terminal: Terminal): Promise<number> {
  const store = await storeOf(where)
  const widths: number[] = []
  let rows: (readonly string[])[] = [['session', 'changed', 'size', 'state', 'folder', 'first prompt']]
  let any = false
  const show = (): void => {
    for (const line of table(rows, widths)) terminal.print(line)
    rows = []
  }
  for await (const card of store.list()) {
    any = true
    if (terminal.closed.aborted) return DONE
    if (json) terminal.json(jsonOf(card))
    else if (rows.push(rowOf(card)) > BLOCK) show()
  }
  if (any && !json) show()
  else if (!json) terminal.note('there is no session yet; begin one with: headrace run "<prompt>"')
  return DONE
}

/** `headrace sessions rm`. */
export async function removeSession(id: string, where: StoreOptions, terminal: Terminal): Promise<number> {
  await (await storeOf(where)).remove(id)
  terminal.note(`removed session ${id}`)
  return DONE
}

function jsonOf(card: SessionCard): object {
  const { id, modified, size, open, title, prompt, error } = card
  if (error !== undefined) return { id, modified, size, error }
  const state = stateOf(card)
  return {
    id,
    modified,
    size,
    ...(open && { cwd: open.cwd, parent: open.parent }),
    ...(open?.under && { under: open.under.session, call: open.under.call }),
    ...(open?.kind !== undefined && { kind: open.kind }),
    ...(title !== undefined && { title }),
    ...(state !== undefined && { state }),
    queued: card.queued,
    ...(prompt !== undefined && { prompt }),
  }
}

function rowOf(card: SessionCard): readonly string[] {
  const { id, modified, size, open, title, prompt, error } = card
  const text = brief(title ?? prompt ?? '(no prompt yet)', 80)
  // --continue skips a session that works for another.
  const own = open?.under ? `(${brief(open.kind ?? 'made', 40)} of ${brief(open.under.session, 130)}) ${text}` : text
  const last = error === undefined ? own : `! ${brief(error, 300)}`
  return [id, shownTime(modified), shownSize(size), shownState(card), open?.cwd ?? '-', last]
}

/**
 * `running` or `asks` where somebody has it; `open` where a turn is, and nobody has it; else how the last turn ended.
 * Absent before the first.
 */
function stateOf({ state, turn }: SessionCard): 'running' | 'asks' | 'open' | TurnReason | undefined {
  if (state === 'parked') return 'open'
  return state === 'idle' ? turn?.reason : state
}

/** `open, 2 queued`. */
function shownState(card: SessionCard): string {
  const state = stateOf(card)
  return [...(state === undefined ? [] : [state]), ...(card.queued > 0 ? [`${card.queued} queued`] : [])].join(', ') || '-'
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

/**
 * `headrace sessions rewind`: takes a session back; what its last process left open is closed first, and prompts that
 * wait are withdrawn.
 */
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
