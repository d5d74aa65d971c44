import { HeadraceError } from '@headrace/message'
import { LogError, type Verification, Verifier } from '@headrace/session'
import { DONE, FAILED } from '../base/error.ts'
import { type Log, type StoreOptions, findLog, storeOf } from '../base/store.ts'
import type { Terminal } from '../show/terminal.ts'

export interface VerifyOptions extends StoreOptions {
  readonly digest?: true
  readonly json?: true
}

/** `headrace verify`: rebuilds every request of a log and compares. Returns the exit code: 1 where something differs. */
export async function verify(what: string, options: VerifyOptions, terminal: Terminal): Promise<number> {
  const log = await findLog(await storeOf(options), what)
  const found = await verifyLog(log)
  if (options.json) terminal.json({ log: log.name, ...found })
  else tell(log, found, options, terminal)
  return found.difference ? FAILED : DONE
}

function tell({ title }: Log, { requests, events, chain, difference }: Verification, { digest }: VerifyOptions, terminal: Terminal): void {
  if (difference) return terminal.print(`differs: ${title}: event ${difference.seq}: ${difference.what.replace(/^event \d+: /, '')}`)
  terminal.print(`ok: ${requests} request${requests === 1 ? '' : 's'} of ${events} event${events === 1 ? '' : 's'} rebuild${requests === 1 ? 's' : ''} byte for byte (${title})`)
  if (digest) terminal.print(chain)
}

/** Streams a log through a verifier, in memory bounded by what the model saw. @throws StoreError for a log that cannot be read */
async function verifyLog(log: Log): Promise<Verification> {
  const verifier = new Verifier()
  let next = 0
  for await (const batch of log.batches()) {
    for (const event of batch) {
      try {
        verifier.feed(event)
        next = event.seq + 1
      } catch (error) {
        // A RangeError: nested too deeply to be written as JSON again.
        if (!(error instanceof HeadraceError || error instanceof RangeError)) throw error
        return verifier.result({ seq: error instanceof LogError ? (error.seq ?? next) : next, what: error.message })
      }
    }
  }
  return verifier.result()
}
