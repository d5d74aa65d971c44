import { basename } from 'node:path'
import type { Agent, ToolCall } from '@headrace/agent'
import { touchedPaths } from '@headrace/files'
import type { Digest } from '@headrace/message'
import type { Account, AgentFiles } from './agent-files.ts'
import { folderWords } from './announcement.ts'
import type { Config } from './config.ts'
import { Look } from './gather.ts'
import { type Project, isFolderKey } from './project.ts'

const WAYS = 1_000
/** What is told of a folder, under its key. */
export interface Announcement {
  readonly key: string
  readonly content: string
}

const NOTHING: readonly Announcement[] = []

/** A folder, and what its announcement is signed with. */
interface Place {
  readonly folder: string
  readonly key: string
  /** The touched path itself, which is a file more often than not. */
  readonly end: boolean
}

/**
 * Folders below an agent's own, told when a tool touches them. The history says what was told: at each boundary what is
 * still visible is compared with the files; what compaction hid is told again on the next touch.
 */
export class NestedFolders {
  private readonly files: AgentFiles
  private readonly config: Config
  /** Texts of each folder that are in the history, or about to be: parallel calls do not tell the same twice. */
  private readonly told = new Map<string, readonly Digest[]>()
  /** Folders on the way to a path, by path: tools touch the same ones again and again. */
  private readonly ways = new Map<string, readonly Place[]>()
  /** Fields of a call's input that name paths. */
  private readonly fields: ReadonlySet<string>

  constructor(files: AgentFiles, config: Config) {
    this.files = files
    this.config = config
    this.fields = new Set(config.pathFields)
  }

  /** Announces what changed in the folders that were told; synchronous where none was. */
  announce(agent: Agent, visible: ReadonlyMap<string, string>): void | Promise<void> {
    this.told.clear()
    for (const key of visible.keys()) if (isFolderKey(key)) return this.compare(agent, visible)
  }

  private async compare(agent: Agent, visible: ReadonlyMap<string, string>): Promise<void> {
    const project = await this.files.project()
    const folders = [...visible].flatMap(([key, last]) => {
      const folder = project.folderOf(key)
      return folder === undefined ? [] : [{ key, folder, last }]
    })
    const accounts = await Promise.all(folders.map(async ({ folder }) => this.files.folder(folder)))
    for (const [index, { key, last, folder }] of folders.entries()) {
      const account = accounts[index]!
      this.told.set(key, topsOf(account))
      const shown = `${project.shown(folder)}/`
      const first = account.text === undefined ? undefined : folderWords.first(shown, account.text)
      const changed = first === undefined ? folderWords.removed(shown) : folderWords.changed(shown, first)
      if (last !== first && last !== changed) agent.inject({ key, content: changed })
    }
  }

  /**
   * The texts of folders that a call is the first to touch, the most general first; synchronous where there are none.
   */
  touch(call: ToolCall): readonly Announcement[] | Promise<readonly Announcement[]> {
    const project = this.files.project()
    if (project instanceof Promise) return project.then(() => this.touch(call))
    const ways = touchedPaths(call.input, this.fields).map((path) => this.wayTo(path, project))
    const way = ways.length === 1 ? ways[0]! : once(ways.flat())
    const folders = way.filter(({ key, folder, end }) => !this.told.has(key) && (!end || this.files.isFolder(folder)))
    if (folders.length === 0) return NOTHING
    const look = new Look()
    const accounts = folders.map(({ folder }) => this.files.folder(folder, look))
    if (accounts.every((account) => !(account instanceof Promise) && account.text === undefined)) return NOTHING
    return Promise.all(accounts.map(async (account) => account)).then((all) => this.claim(folders, all, project))
  }

  /** Synchronous, so that a parallel call cannot tell the same. */
  private claim(folders: readonly Place[], accounts: readonly Account[], project: Project): readonly Announcement[] {
    return folders.flatMap(({ folder, key }, index) => {
      const account = accounts[index]!
      if (account.text === undefined || this.told.has(key) || this.isToldElsewhere(account)) return []
      this.told.set(key, topsOf(account))
      return [{ key, content: folderWords.first(`${project.shown(folder)}/`, account.text) }]
    })
  }

  private wayTo(path: string, project: Project): readonly Place[] {
    const known = this.ways.get(path)
    if (known) return known
    const folders = project.touched(path)
    const end = folders.findIndex((folder) => this.config.skip.includes(basename(folder)))
    const way = (end < 0 ? folders : folders.slice(0, end)).map((folder) => ({
      folder,
      key: project.keyOf(folder),
      end: folder === folders.at(-1),
    }))
    if (this.ways.size >= WAYS) this.ways.clear()
    this.ways.set(path, way)
    return way
  }

  /** Skips a worktree inside the project, and a folder by another name. */
  private isToldElsewhere(account: Account): boolean {
    const told = new Set([...this.files.told(), ...[...this.told.values()].flat()])
    return topsOf(account).every((digest) => told.has(digest))
  }
}

/** Each place once, the most general first. */
function once(places: readonly Place[]): readonly Place[] {
  return [...new Map(places.map((place) => [place.key, place])).values()].sort((a, b) => (a.folder < b.folder ? -1 : 1))
}

/** What is told of the folder itself, without what it imports. */
function topsOf({ parts }: Account): readonly Digest[] {
  return parts.filter(({ importedBy }) => importedBy === undefined).map(({ file }) => file.digest)
}
