import { createReadStream, statSync } from 'node:fs'
import { HeadraceError, messageOf } from '@headrace/message'
import { type Lost, blobLine, gapLine, readItems, salvageLog } from '@headrace/plugin-store-jsonl'
import type { LostEvents } from '@headrace/plugin-store-sqlite'
import { type Imported, type LogItem, SessionNotFoundError, type SessionStore, blobsOf, exportLog, importLog } from '@headrace/session'
import { CANCELLED, CommandError, DONE, UsageError } from '../base/error.ts'
import { Interrupts } from '../base/interrupts.ts'
import { type Log, type StoreOptions, findLog, isFile, siblingBlob, storeOf } from '../base/store.ts'
import type { Terminal } from '../show/terminal.ts'

export interface ExportCommand extends StoreOptions {
  readonly salvage?: true
}

export interface ImportCommand extends StoreOptions {
  readonly id?: string
  /** False for --without-blobs. */
  readonly blobs?: false
}

/** `headrace sessions export`: a log and its blobs as JSON lines; with `--salvage` every sound event of a damaged one. */
export async function exportSession(what: string, options: ExportCommand, terminal: Terminal): Promise<number> {
  const store = await storeOf(options)
  const log = await findLog(store, what)
  const source = { load: log.batches, getBlob: (_: string, digest: string) => log.blob(digest) }
  const onMissing = (digest: string, seq: number): void => terminal.warn(`headrace: warning: event ${seq} names the blob ${digest}, which is not there; import what is printed with --without-blobs`)
  if (options.salvage) {
    const sound = salvaging(store) && !isFile(what) ? store.salvage(log.name) : undefined
    return salvage(log, source.getBlob, terminal, onMissing, sound)
  }
  for await (const item of exportLog(source, log.name, { onMissing })) show(item, terminal)
  return DONE
}

function show(item: LogItem, terminal: Terminal): void {
  if ('blob' in item) terminal.print(blobLine(item))
  else terminal.json(item)
}

type Salvaged = LogItem | { readonly lost: Lost | LostEvents }
type Missing = (digest: string, seq: number) => void

/** Every sound event, also behind damage; what is left out is reported. */
async function salvage(
  log: Log,
  getBlob: SessionStore['getBlob'],
  terminal: Terminal,
  onMissing: Missing,
  sound: AsyncIterable<Salvaged> = log.file === undefined ? soundEvents(log) : salvageLog(log.file),
): Promise<number> {
  const given = new Set<string>()
  const left: string[] = []
  let events = 0
  for await (const item of sound) {
    if ('lost' in item) {
      if (item.lost.missing) terminal.print(gapLine(item.lost.missing))
      left.push(lostWords(item.lost))
      continue
    }
    if ('blob' in item) given.add(item.blob)
    else {
      events++
      for (const digest of blobsOf(item)) {
        if (given.has(digest)) continue
        given.add(digest)
        const bytes = await getBlob(log.name, digest).catch(() => undefined)
        if (bytes) show({ blob: digest, bytes }, terminal)
        else onMissing(digest, item.seq)
      }
    }
    show(item, terminal)
  }
  terminal.warn(`headrace: salvaged ${events} event${events === 1 ? '' : 's'}; left out:${left.length === 0 ? ' nothing' : ''}`)
  for (const each of left) terminal.warn(`headrace: ${each}`)
  return DONE
}

function lostWords(lost: Lost | LostEvents): string {
  if ('line' in lost) return `line ${lost.line} at byte ${lost.offset}: ${lost.why}`
  const [from, to] = lost.missing
  return `${from === to ? `event ${from}` : `events ${from} to ${to}`}: ${lost.why}`
}

/** A store that gives the sound events of a log that is damaged. */
interface SalvagingStore {
  salvage(id: string): AsyncIterable<Salvaged>
}

function salvaging(store: unknown): store is SalvagingStore {
  return typeof (store as Partial<SalvagingStore>).salvage === 'function'
}

/** Fallback for other stores: everything up to the first damage. */
async function* soundEvents(log: Log): AsyncGenerator<LogItem | { readonly lost: Lost }> {
  let next = 0
  try {
    for await (const batch of log.batches()) {
      for (const event of batch) {
        yield event
        next = event.seq + 1
      }
    }
  } catch (error) {
    if (error instanceof SessionNotFoundError) throw error
    yield { lost: { line: next + 1, offset: 0, bytes: 0, why: messageOf(error) } }
  }
}

/** `headrace sessions import`: takes what `export` printed, or a log's own file, into a store, all or nothing. */
export async function importSession(what: string, options: ImportCommand, terminal: Terminal): Promise<number> {
  if (what === '-' && process.stdin.isTTY) throw new UsageError('there is nothing on stdin; pipe a log into it, e.g. headrace sessions export last | headrace sessions import -')
  if (what !== '-' && !statSync(what, { throwIfNoEntry: false })?.isFile()) throw new CommandError(`there is no file ${what}`)
  const store = await storeOf(options, 'to write')
  const source = what === '-' ? process.stdin : createReadStream(what)
  const interrupts = new Interrupts(() => undefined, process, () => undefined)
  interrupts.signal.addEventListener('abort', () => source.destroy(new Error('interrupted')), { once: true })
  try {
    const onGap = (from: number): void => terminal.warn(`headrace: warning: event ${from} was not salvaged; what comes behind it is left out`)
    const items = readItems(source as AsyncIterable<Uint8Array>, what === '-' ? 'stdin' : what, onGap)
    tell(await importLog(store, what === '-' ? items : withSiblings(items, what), { ...options, blobs: options.blobs === false ? 'optional' : 'required', signal: interrupts.signal }), terminal)
    return DONE
  } catch (error) {
    if (!interrupts.signal.aborted) throw explained(error)
    terminal.warn(`headrace: ${String(interrupts.signal.reason)}; nothing was imported`)
    return CANCELLED
  } finally {
    interrupts.stop()
  }
}

/** The blobs that lie beside a log's own file, each in front of the event that names it first. */
async function* withSiblings(items: AsyncIterable<LogItem>, path: string): AsyncIterable<LogItem> {
  const given = new Set<string>()
  for await (const item of items) {
    if ('blob' in item) given.add(item.blob)
    else {
      for (const blob of blobsOf(item)) {
        const bytes = given.has(blob) ? undefined : await siblingBlob(path, blob)
        if (bytes) yield { blob, bytes }
        given.add(blob)
      }
    }
    yield item
  }
}

function tell({ id, events, requests }: Imported, terminal: Terminal): void {
  terminal.print(id)
  terminal.note(`imported session ${id}: ${events} event${events === 1 ? '' : 's'}; ${requests} request${requests === 1 ? '' : 's'} rebuild${requests === 1 ? 's' : ''} byte for byte`)
}

/** With what to type instead. */
function explained(error: unknown): unknown {
  if (!(error instanceof HeadraceError)) return error
  if (error.code === 'SESSION_EXISTS') return new CommandError(`${error.message.split(';')[0]}; import it under another with --id, or remove that one first: headrace sessions rm`, { cause: error })
  return new CommandError(`nothing was imported: ${error.message}${error.code === 'BLOB_MISSING' ? ': --without-blobs' : ''}`, { cause: error })
}
