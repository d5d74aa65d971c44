import { readLog } from '@headrace/plugin-store-jsonl'
import { type LogVerification, type Unseen, verifyLog } from '@headrace/session'
import { DONE, FAILED } from '../base/error.ts'
import { type Log, type StoreOptions, findLog, storeOf } from '../base/store.ts'
import type { Terminal } from '../show/terminal.ts'

export interface VerifyOptions extends StoreOptions {
  readonly digest?: true
  readonly json?: true
}

/** What was not checked: bytes behind the last whole line of a file. */
interface LeftOut {
  readonly offset: number
  readonly bytes: number
}

/** `headrace verify`: rebuilds every request of a log and compares, and its blobs. Returns the exit code: 1 where something differs. */
export async function verify(what: string, options: VerifyOptions, terminal: Terminal): Promise<number> {
  const log = await findLog(await storeOf(options), what)
  let leftOut: LeftOut | undefined
  const load = () => log.file === undefined ? log.batches() : readLog(log.file, (left) => { leftOut = left })
  const found = await verifyLog({ load, getBlob: (_, digest) => log.blob(digest) }, log.name)
  if (options.json) terminal.json({ log: log.name, ...found, ...(leftOut && { leftOut }) })
  else tell(log, found, options, terminal)
  if (leftOut && !options.json) terminal.warn(`headrace: left out: ${leftOut.bytes} bytes from byte ${leftOut.offset} on, which are no whole line: what was never acknowledged, or no log`)
  return found.difference ? FAILED : DONE
}

function tell(
  { title }: Log,
  { requests, events, chain, blobs, difference, more = [], unseen }: LogVerification,
  { digest }: VerifyOptions,
  terminal: Terminal,
): void {
  if (difference) {
    for (const { seq, what } of [difference, ...more]) terminal.print(`differs: ${title}: event ${seq}: ${what.replace(/^event \d+: /, '')}`)
    for (const what of unseenWords(unseen)) terminal.warn(`headrace: not looked at: ${what}`)
    return
  }
  const named = blobs === 0 ? '' : `, ${blobs} blob${blobs === 1 ? ' is' : 's are'} there`
  terminal.print(
    `ok: ${requests} request${requests === 1 ? '' : 's'} of ${events} event${events === 1 ? '' : 's'} rebuild${requests === 1 ? 's' : ''} byte for byte${named} (${title})`,
  )
  if (digest) terminal.print(chain)
}

/** What could not be checked because of a difference. */
function unseenWords({ differences = 0, requests = 0, events = 0, unread }: Unseen = {}): readonly string[] {
  const many = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
  return [
    ...(requests > 0 ? [`${many(requests, 'request')}, for the history in front is another`] : []),
    ...(events > 0 ? [`${many(events, 'event')} behind one that cannot be rebuilt, but for the blobs they name`] : []),
    ...(unread === undefined ? [] : [`what stands behind: ${unread}`]),
    ...(differences > 0 ? [`${many(differences, 'further difference')}`] : []),
  ]
}
