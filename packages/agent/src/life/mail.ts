import { toConfigPatch } from '@headrace/message'
import { AgentError } from '../contract/error.ts'
import type { LetterTakers } from '../turn/letters.ts'
import type { TurnHost } from '../turn/host.ts'
import type { Driver } from './driver.ts'
import type { Inbox } from './inbox.ts'

/** What letters change of an agent. */
interface Recipient extends Pick<TurnHost, 'session' | 'header'> {
  readonly inbox: Inbox
  readonly driver: Driver
  /** The turn whose cancel this life has put on record. */
  readonly cancelled: number | undefined
  cancel(reason: string, queue: 'keep', letter: string): void
}

/** What an agent with mail does with letters, beside answers. What cannot count throws why. */
export function mailTakers(core: Recipient): LetterTakers {
  return {
    prompt(letter) {
      core.inbox.takeLetter(letter, (config) => core.header.seed.check(toConfigPatch(config, 'prompt')))
      core.driver.wake()
    },
    cancel({ id, turn, reason }) {
      const { ledger } = core.session
      if (ledger.turn?.number !== turn) throw new AgentError('TURN_OVER', turn > ledger.turns ? `there is no turn ${turn}` : `turn ${turn} has ended`)
      if (turn === core.cancelled) throw new AgentError('TURN_OVER', `turn ${turn} is being cancelled already`)
      core.cancel(reason, 'keep', id)
    },
    withdraw({ id, prompt, reason }) {
      if (!core.session.ledger.isQueued(prompt)) throw new AgentError('PROMPT_TAKEN', `the prompt ${prompt} does not wait`)
      core.inbox.withdraw(prompt, reason, id)
    },
  }
}
