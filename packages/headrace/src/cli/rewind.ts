import * as agentPlugin from '@headrace/agent'
import { Context } from 'cordis'
import { DONE, UsageError } from './error.ts'
import { type StoreOptions, findLog, storeOf } from './store.ts'
import type { Terminal } from './terminal.ts'

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
