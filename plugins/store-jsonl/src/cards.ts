import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256 } from '@headrace/message'
import { type CardState, type ListFilter, isSessionId, parseCardState } from '@headrace/session'
import { isCode } from './files.ts'

/** A card, with the size and modification time that its log had. */
export interface KeptCard {
  readonly state: CardState
  readonly size: number
  readonly modified: number
}

const MODE = 0o700

/**
 * The cards of a store's sessions: `.cards/of/<id>`, and an index by folder and by parent session: `.cards/in/<sha256
 * of the folder>/<id>`, `.cards/under/<session>/<id>`. A cache: it may be deleted at any time, and is never synced.
 */
export class CardFolder {
  private readonly root: string

  constructor(directory: string) {
    this.root = join(directory, '.cards')
  }

  read(id: string): KeptCard | undefined {
    try {
      const kept = JSON.parse(fs.readFileSync(join(this.root, 'of', id), 'utf8')) as KeptCard | null
      const state = parseCardState(kept?.state)
      return state && { state, size: Number(kept!.size), modified: Number(kept!.modified) }
    } catch (error) {
      if (error instanceof SyntaxError || isCode(error, 'ENOENT', 'EISDIR')) return undefined
      throw error
    }
  }

  /** A card is whole or not there; its index entries are written before it. */
  async write(id: string, card: KeptCard): Promise<void> {
    const path = join(this.root, 'of', id)
    await mkdir(join(this.root, 'of'), { recursive: true, mode: MODE })
    if (!fs.existsSync(path)) for (const place of this.placesOf(card.state)) await note(place, id)
    const draft = `${path}.${randomUUID()}~`
    try {
      await writeFile(draft, JSON.stringify(card), { mode: 0o600 })
      await rename(draft, path)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  remove(id: string): void {
    const kept = this.read(id)
    fs.rmSync(join(this.root, 'of', id), { force: true })
    if (kept) for (const place of this.placesOf(kept.state)) fs.rmSync(join(place, id), { force: true })
    fs.rmSync(join(this.root, 'under', id), { recursive: true, force: true })
  }

  /** The sessions that have a card. */
  async ids(): Promise<ReadonlySet<string>> {
    return new Set(await namesIn(join(this.root, 'of')))
  }

  /** The sessions that may pass a filter. */
  async idsOf({ cwd, under }: ListFilter): Promise<readonly string[]> {
    return namesIn(under === undefined ? this.folderOf(cwd!) : this.underOf(under))
  }

  private placesOf({ open }: CardState): readonly string[] {
    return [
      ...(open?.cwd === undefined ? [] : [this.folderOf(open.cwd)]),
      ...(open?.under === undefined ? [] : [this.underOf(open.under.session)]),
    ]
  }

  /** A log's `under` may be anything, even a path that leads out of this folder. */
  private underOf(session: string): string {
    return join(this.root, 'under', isSessionId(session) ? session : sha256(session))
  }

  private folderOf(cwd: string): string {
    return join(this.root, 'in', sha256(cwd))
  }
}

async function note(place: string, id: string): Promise<void> {
  await mkdir(place, { recursive: true, mode: MODE })
  await writeFile(join(place, id), '', { mode: 0o600 })
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENOTDIR')) return []
    throw error
  }
}
