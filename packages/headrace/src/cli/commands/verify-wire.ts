import { messageOf, splitModel } from '@headrace/message'
import { type Dispatch, Fold, type SessionEvent, assembleRequest, partsAt } from '@headrace/session'
import type { AdapterRecord, Digest, Request } from '@headrace/message'
import type { Context } from 'cordis'
import { boot, bootFile, shutDown } from '../base/app.ts'
import { DONE, FAILED, USAGE } from '../base/error.ts'
import { type Log, type StoreOptions, findLog, storeOf } from '../base/store.ts'
import type { Terminal } from '../show/terminal.ts'
import { ENDPOINT } from '../../route.ts'

export interface WireOptions extends StoreOptions {
  /** The app whose adapters make the bodies; else the usual set. */
  readonly app?: string
  readonly json?: true
  readonly debug?: true
}

/** The result for one request's body. */
interface Compared {
  readonly dispatch: number
  readonly what: 'equal' | 'differs' | 'not comparable'
  readonly why?: string
}

/** Any base URL will do: it is not part of a body. */
const NOWHERE = 'http://127.0.0.1:9/v1'

/**
 * `headrace verify --wire`: makes the body of each request again, with a transport that never connects, and compares. Returns the exit
 * code: 0 where all are equal, 1 where one differs, 2 where one cannot be compared.
 */
export async function verifyWire(what: string, options: WireOptions, terminal: Terminal): Promise<number> {
  const store = await storeOf(options)
  const log = await findLog(store, what)
  const app = options.app === undefined
    ? await boot({ store: false, providers: { [ENDPOINT]: { baseURL: NOWHERE } } }, terminal, options.debug === true)
    : (await bootFile(options.app, {}, terminal, options.debug === true)).ctx
  try {
    const found: Compared[] = []
    for await (const compared of compare(log, app, (digest) => store.getBlob(log.name, digest))) found.push(compared)
    const count = (kind: Compared['what']): number => found.filter((each) => each.what === kind).length
    if (options.json) terminal.json({ log: log.name, requests: found })
    else {
      for (const { dispatch, what, why } of found) if (what !== 'equal') terminal.print(`${what}: event ${dispatch}${why === undefined ? '' : `: ${why}`}`)
      terminal.print(`${count('equal')} equal, ${count('differs')} differ, ${count('not comparable')} not comparable (${log.title})`)
    }
    return count('differs') > 0 ? FAILED : count('not comparable') > 0 ? USAGE : DONE
  } finally {
    await shutDown(app, terminal)
  }
}

type Blob = (digest: Digest) => Promise<Uint8Array | undefined>

interface Made {
  readonly digest: Digest
  readonly adapter: AdapterRecord
}

/** Every dispatch whose body was seen when it left, in order. */
async function* compare(log: Log, app: Context, blob: Blob): AsyncGenerator<Compared> {
  const fold = new Fold()
  const made = new Map<number, Made | string>()
  let session = ''
  for await (const batch of log.batches()) {
    for (const event of batch) {
      if (event.type === 'session/open') session = event.data.id
      fold.apply(event)
      if (event.type === 'request/dispatch') made.set(event.seq, await again(app, fold, session, event.seq, event.data, blob))
      if (event.type === 'request/end') yield* compared(event, made.get(event.data.dispatch))
      if (event.type === 'request/end') made.delete(event.data.dispatch)
    }
  }
}

/** The body's digest, or why there is none. */
async function again(app: Context, fold: Fold, session: string, seq: number, dispatch: Dispatch, blob: Blob): Promise<Made | string> {
  const data = assembleRequest(partsAt(fold, session, seq, dispatch))
  const request = Object.defineProperty(data, 'signal', { value: new AbortController().signal, enumerable: true }) as Request
  const { provider } = splitModel(request.config.model)
  if (!app.llm.providers().includes(provider)) return `the provider ${JSON.stringify(provider)} of its model is not here; give the app that has it with --app`
  try {
    return (await app.llm.wire(request, blob)) ?? `the adapter of ${provider} cannot make a body without sending it`
  } catch (error) {
    return messageOf(error)
  }
}

function* compared({ data: { dispatch, wire, adapter, outcome } }: SessionEvent<'request/end'>, made: Made | string | undefined): Generator<Compared, void, undefined> {
  if (made === undefined) return
  const other = (why: string): Compared => ({ dispatch, what: 'not comparable', why })
  // What was refused before it left has no body.
  if (wire === undefined && outcome !== 'ok') return
  if (typeof made === 'string') return yield other(made)
  if (wire === undefined) return yield other('the log has no digest of its body, for its adapter could not see what it sent')
  if (made.digest === wire) return yield { dispatch, what: 'equal' }
  if (adapter === undefined) return yield other('the log does not say what made its body')
  const { name, version, options } = made.adapter
  if (name !== adapter.name || version !== adapter.version) return yield other(`its body was made by ${adapter.name} ${adapter.version}, here it is ${name} ${version}`)
  if (options !== adapter.options) return yield other(`its provider is set up otherwise here, and so takes another body`)
  yield { dispatch, what: 'differs' }
}
