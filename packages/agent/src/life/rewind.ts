import type { Owner } from '@headrace/message'
import type { Session, SessionEvent } from '@headrace/session'
import type { RewindOptions } from '../contract/agent.ts'
import { AgentError } from '../contract/error.ts'
import { checkOption, checkOptions, namesOf } from '../contract/check-options.ts'
import type { Driver } from './driver.ts'

/** What a rewind needs of its agent. */
export interface RewindHost {
  readonly session: Session
  readonly driver: Driver
  cancel(reason: string, queue: 'keep' | 'withdraw'): void
  /** @throws AgentError where it was parked or disposed */
  checkAlive(): void
}

const OPTIONS = namesOf<RewindOptions>({ turns: true, to: true, cancel: true, queue: true, reason: true })

/**
 * Takes a session back to the beginning of a turn (`surface/rewind`). No turn begins meanwhile; what waits goes on behind it. The log keeps
 * everything, and what tools did stays done.
 *
 * @throws AgentError where a turn runs, there is no such turn, or the agent was parked or disposed; StoreError
 */
export async function rewind(host: RewindHost, owner: Owner, options: RewindOptions, fallback: string): Promise<SessionEvent<'surface/rewind'>> {
  const { session } = host
  checkOptions('agent.rewind', options, OPTIONS)
  const { cancel, reason = fallback } = options
  checkOption('agent.rewind', cancel === undefined || typeof cancel === 'boolean', 'has cancel: true or false')
  checkOption('agent.rewind', typeof reason === 'string', 'has a reason that is a text')
  checkOption('agent.rewind', options.queue === undefined || options.queue === 'keep' || options.queue === 'withdraw', "has queue: 'keep' or 'withdraw'")
  host.checkAlive()
  targetOf(session, options)
  // Checked before the pause: a refused rewind must not cost a waiting turn its slot.
  if (session.ledger.turn && cancel !== true) throw new AgentError('TURN_RUNS', 'a turn runs; let it end, or rewind with { cancel: true }')
  return host.driver.between(async () => {
    host.cancel(reason, options.queue ?? 'keep')
    await host.driver.idle()
    host.checkAlive()
    session.admit()
    // Checked again: another rewind may have come first.
    const event = session.append<'surface/rewind'>({ type: 'surface/rewind', data: { turn: targetOf(session, options), owner, reason } })
    await session.flush()
    return event
  })
}

function targetOf({ surface, ledger }: Session, { turns, to }: RewindOptions): number {
  if (turns !== undefined && to !== undefined) throw new AgentError('REWIND_INVALID', 'a rewind has turns or to, not both')
  const [name, value] = to === undefined ? ['turns', turns ?? 1] as const : ['to', to] as const
  if (!Number.isSafeInteger(value) || value < 1) throw new AgentError('REWIND_INVALID', `${name} of a rewind must be a whole number from 1`)
  if (to !== undefined) {
    if (to > ledger.turns) throw new AgentError('REWIND_TOO_FAR', `there is no turn ${to} to go back to; the newest is ${ledger.turns}`)
    return to
  }
  const standing = surface.turns
  const target = standing.at(-value)
  if (!target) throw new AgentError('REWIND_TOO_FAR', `${value} turn${value === 1 ? '' : 's'} cannot be taken back: ${standing.length} stand${standing.length === 1 ? 's' : ''}`)
  return target.turn
}
