import { createWriteStream, mkdirSync, readdirSync, type WriteStream } from 'node:fs'
import { open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { stateHome } from '@headrace/files'

/** Characters of output that are kept in a file: the beginning, then a note. */
const MAX_OUTPUT = 10_000_000
/** Milliseconds after which the outputs of a session that nobody used are removed. */
const MAX_AGE = 14 * 86_400_000

/** Where the outputs of a session's background commands are: files of the user, outside of the workspace. */
export function outputFolder(session: string): string {
  return join(stateHome(), 'headrace', 'commands', session)
}

/** Numbers of the outputs that are there: of this life of the agent, and of those before. */
export function outputsIn(folder: string): number[] {
  try {
    return readdirSync(folder).flatMap((name) => /^b(\d+)\.log$/.exec(name)?.slice(1).map(Number) ?? [])
  } catch {
    return []
  }
}

/** The output of one background command, as it comes, bounded. */
export class OutputFile {
  readonly path: string
  private readonly stream: WriteStream
  private left = MAX_OUTPUT

  /** @throws where the folder cannot be made */
  constructor(folder: string, id: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.path = join(folder, `${id}.log`)
    this.stream = createWriteStream(this.path, { mode: 0o600 })
    this.stream.on('error', () => (this.left = 0)) // A full disk costs the file, not the command.
  }

  write(text: string): void {
    if (this.left <= 0) return
    this.stream.write(text.length <= this.left ? text : `${text.slice(0, this.left).toWellFormed()}\n[… what came behind this was not kept]\n`)
    this.left -= text.length
  }

  /** Resolves when all is written. */
  end(): Promise<void> {
    return new Promise((resolve) => this.stream.once('close', resolve).end())
  }
}

/** The end of a file, so many characters of it at most; nothing where it is not there. */
export async function endOfFile(path: string, max: number): Promise<string | undefined> {
  const handle = await open(path, 'r').catch(() => undefined)
  if (!handle) return undefined
  try {
    const { size } = await handle.stat()
    const from = Math.max(0, size - max)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(size, max)), 0, Math.min(size, max), from)
    const text = buffer.subarray(0, bytesRead).toString('utf8')
    return from === 0 ? text : `[… ${from} bytes left out here …]\n${text.replace(/^\ufffd+/, '')}`
  } finally {
    await handle.close()
  }
}

let isSwept = false

/** Removes the folders of sessions that were not used for long, once per process, in the background. */
export async function sweepOutputs(): Promise<void> {
  if (isSwept) return
  isSwept = true
  await delay(1_000, undefined, { ref: false })
  const root = outputFolder('')
  for (const name of await readdir(root).catch((): string[] => [])) {
    const status = await stat(join(root, name)).catch(() => undefined)
    if (status && Date.now() - status.mtimeMs > MAX_AGE) await rm(join(root, name), { recursive: true, force: true }).catch(() => undefined)
  }
}
