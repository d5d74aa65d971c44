import { createReadStream, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HeadraceError, messageOf } from '@headrace/message'
import { blobLine, readItems, readLog } from '@headrace/plugin-store-jsonl'
import { type Imported, type LogItem, SessionNotFoundError, type SessionStore, blobsOf, exportLog, importLog } from '@headrace/session'
import { CANCELLED, CommandError, DONE, UsageError } from '../base/error.ts'
import { Interrupts } from '../base/interrupts.ts'
import { type StoreOptions, findLog, isFile, storeOf } from '../base/store.ts'
import type { Terminal } from '../show/terminal.ts'

export interface ExportCommand extends StoreOptions {
  readonly salvage?: true
}

export interface ImportCommand extends StoreOptions {
  readonly id?: string
  /** False for --without-blobs. */
  readonly blobs?: false
}

/** `headrace sessions export`: a log and its blobs as JSON lines; with `--salvage` what can be read of a damaged one. */
export async function exportSession(what: string, options: ExportCommand, terminal: Terminal): Promise<number> {
  const [source, id] = isFile(what) ? [fileSource(what), what] : await named(what, options)
  let events = 0
  const onMissing = (digest: string, seq: number): void => terminal.warn(`headrace: warning: event ${seq} names the blob ${digest}, which is not there; import what is printed with --without-blobs`)
  try {
    for await (const item of exportLog(source, id, { onMissing })) {
      if ('blob' in item) {
        terminal.print(blobLine(item))
        continue
      }
      terminal.json(item)
      events++
    }
    return DONE
  } catch (error) {
    if (!options.salvage || error instanceof SessionNotFoundError) throw error
    terminal.warn(`headrace: salvaged ${events} event${events === 1 ? '' : 's'}; what comes behind is lost: ${messageOf(error)}`)
    return DONE
  }
}

async function named(what: string, options: StoreOptions): Promise<readonly [SessionStore, string]> {
  const store = await storeOf(options)
  return [store, (await findLog(store, what)).name]
}

/** A log's own file as a store has it: its blobs lie in a folder beside it. */
function fileSource(path: string): Pick<SessionStore, 'load' | 'getBlob'> {
  return { load: () => readLog(path), getBlob: (_, digest) => siblingBlob(path, digest) }
}

async function siblingBlob(path: string, digest: string): Promise<Uint8Array | undefined> {
  if (!/^[0-9a-f]{64}$/.test(digest)) return undefined
  return readFile(join(path.replace(/\.jsonl$/, '.blobs'), digest)).catch(() => undefined)
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
    const items = readItems(source as AsyncIterable<Uint8Array>, what === '-' ? 'stdin' : what)
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
