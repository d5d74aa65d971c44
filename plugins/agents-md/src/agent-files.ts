import { dirname, join } from 'node:path'
import type { Digest } from '@headrace/message'
import type { FileSystem } from '@headrace/files'
import { type Rendering, render } from './announcement.ts'
import { type Config, OTHER_LOCAL, OTHER_NAMES } from './config.ts'
import { type Looked, Look, type Part, type Place, gather } from './gather.ts'
import { type Diagnostic, type InstructionFiles, diagnosticLine, instructionFiles } from './instruction-file.ts'
import { Project } from './project.ts'

/** The text told about a folder, or about the whole project. */
export interface Account extends Rendering {
  readonly parts: readonly Part[]
}

/** A text, and the files it was made from. */
interface Kept {
  readonly account: Account
  readonly looked: readonly Looked[]
  readonly told: ReadonlySet<Digest>
}

const PLACES = 1_000
const NO_NEWS: readonly Diagnostic[] = []
const NONE: ReadonlySet<Digest> = new Set()
const NOTHING: Account = { parts: [], text: undefined, whole: NONE, diagnostics: [] }

interface Opened {
  readonly project: Project
  readonly reader: InstructionFiles
  /** Reads the user's own file, which may be a link to anywhere. */
  readonly own: InstructionFiles
}

/** The instruction files of one agent. Files are checked once between two boundaries, and read when they changed. */
export class AgentFiles {
  private readonly files: FileSystem
  private readonly config: Config
  private readonly cwd: string
  private opened: Opened | Promise<Opened> | undefined
  private look: Look | undefined
  private latest: Account | undefined
  private readonly accounts = new Map<string, Kept>()
  private readonly problems = new Map<string, readonly Diagnostic[]>()
  /** Files for other agents, by the key of what was told without them. */
  private readonly others = new Map<string, readonly Diagnostic[]>()
  /** Folders that were touched. */
  private readonly places = new Map<string, readonly Place[]>()
  private reported: ReadonlySet<Diagnostic> = new Set()

  constructor(files: FileSystem, config: Config, cwd: string) {
    this.files = files
    this.config = config
    this.cwd = cwd
  }

  /** Makes the next use check the files again: a boundary has passed. */
  stale(): void {
    this.look = undefined
  }

  /** At once when it is known. */
  project(): Project | Promise<Project> {
    const opened = this.open()
    return opened instanceof Promise ? opened.then(({ project }) => project) : opened.project
  }

  /** One check: else two names below something that is not a folder would be two errors. */
  isFolder(path: string): boolean {
    try {
      return this.files.stat(path)?.kind === 'folder'
    } catch {
      return false
    }
  }

  /**
   * The text of the files from the root to the agent's folder, after the user's own; synchronous where nothing changed.
   */
  whole(): Account | Promise<Account> {
    const look = (this.look ??= new Look())
    const kept = this.keptOf('', look)
    return kept ? (this.latest = kept) : this.wholeAnew(look)
  }

  private async wholeAnew(look: Look): Promise<Account> {
    const { project, reader, own } = await this.open()
    const { global } = this.config
    const places = project.chain().flatMap((folder) => this.placesIn(folder, reader))
    const all = global ? [{ candidates: [global], reader: own }, ...places] : places
    this.reportOthers('', look, project.chain(), reader)
    return (this.latest = await this.account('', look, all, project))
  }

  /**
   * The text of a nested folder: as it is at this boundary, or, with a new check, as it is now; synchronous where
   * nothing changed.
   */
  folder(folder: string, look: Look = (this.look ??= new Look())): Account | Promise<Account> {
    const opened = this.open()
    if (opened instanceof Promise) return opened.then(() => this.folder(folder, look))
    const { project, reader } = opened
    const key = project.keyOf(folder)
    const told = this.told()
    const kept = this.keptOf(key, look, told)
    if (kept) return kept
    this.reportOthers(key, look, [folder], reader)
    return this.account(key, look, this.placesIn(folder, reader), project, told)
  }

  /** Digests of the files of the project that are told whole. */
  told(): ReadonlySet<Digest> {
    return this.latest?.whole ?? NONE
  }

  diagnostics(): readonly Diagnostic[] {
    return distinct([...this.problems.values(), ...this.others.values()].flat())
  }

  /** Those that are new since this was asked. */
  news(): readonly Diagnostic[] {
    if (this.problems.size === 0 && this.others.size === 0 && this.reported.size === 0) return NO_NEWS
    const known = new Set([...this.reported].map((diagnostic) => JSON.stringify(diagnostic)))
    const all = this.diagnostics()
    this.reported = new Set(all)
    return all.filter((diagnostic) => !known.has(JSON.stringify(diagnostic)))
  }

  private placesIn(folder: string, reader: InstructionFiles): readonly Place[] {
    const known = this.places.get(folder)
    if (known) return known
    const { names, local, otherAgents } = this.config
    const lists = otherAgents ? [[...names, ...OTHER_NAMES], [...local, ...OTHER_LOCAL]] : [names, local]
    const places = lists.map((list) => ({ candidates: [...new Set(list)].map((name) => join(folder, name)), reader }))
    if (this.places.size >= PLACES) this.places.clear()
    this.places.set(folder, places)
    return places
  }

  /**
   * Reports files for other agents in folders without any of ours. Looked for once, and again only where one was found:
   * most folders have neither.
   */
  private reportOthers(key: string, look: Look, folders: readonly string[], reader: InstructionFiles): void {
    const { names, otherAgents } = this.config
    if (otherAgents || names.length === 0 || this.others.get(key)?.length === 0) return
    const without = folders.filter((folder) => names.every((name) => look.at(join(folder, name), reader) === undefined))
    this.others.set(key, without.flatMap((folder) => otherFilesIn(folder, names, this.files)))
  }

  /** The last text, if all files it was made from are the same. */
  private keptOf(key: string, look: Look, told = NONE): Account | undefined {
    const kept = this.accounts.get(key)
    return kept && kept.told === told && look.isSame(kept.looked) ? kept.account : undefined
  }

  private account(key: string, look: Look, list: readonly Place[], project: Project, told = NONE): Account | Promise<Account> {
    const none = list.every(({ candidates, reader }) => candidates.every((path) => look.at(path, reader) === undefined))
    return none ? this.forget(key) : this.make(key, look, list, project, told)
  }

  private async make(key: string, look: Look, list: readonly Place[], project: Project, told: ReadonlySet<Digest>): Promise<Account> {
    const { parts, diagnostics, looked } = await gather(list, look, this.config, told)
    const known = this.accounts.get(key)?.account
    const account =
      known && isSame(known.parts, parts)
        ? known
        : { parts, ...render(parts, this.config.budget, (path) => project.shown(path)) }
    if (parts.length > 0) this.accounts.set(key, { account, looked, told })
    else this.accounts.delete(key)
    const problems = [...diagnostics, ...account.diagnostics]
    if (problems.length > 0) this.problems.set(key, problems)
    else this.problems.delete(key)
    return account
  }

  /** There is no file, as in most folders that a tool touches. */
  private forget(key: string): Account {
    this.accounts.delete(key)
    this.problems.delete(key)
    return NOTHING
  }

  private open(): Opened | Promise<Opened> {
    return (this.opened ??= this.find())
  }

  private async find(): Promise<Opened> {
    const { files, config: { roots, global, maxFile, projectMarkers } } = this
    const real = (path: string): Promise<string> => files.realpath(path).catch(() => path)
    const project = await Project.open(files, this.cwd, projectMarkers)
    const others = await Promise.all(roots.map(real))
    const ownRoots = global ? [await real(dirname(global)), dirname(await real(global))] : []
    const reader = instructionFiles(files, [...project.roots, ...others], maxFile)
    const own = instructionFiles(files, [...ownRoots, ...others], maxFile)
    return (this.opened = { project, reader, own })
  }
}

function isSame(a: readonly Part[], b: readonly Part[]): boolean {
  return a.length === b.length && a.every(({ file, importedBy }, index) => file === b[index]!.file && importedBy === b[index]!.importedBy)
}

/** A problem of one file, found for two folders, is reported once. */
function distinct(diagnostics: Iterable<Diagnostic>): readonly Diagnostic[] {
  return [...new Map([...diagnostics].map((diagnostic) => [`${diagnostic.code} ${diagnosticLine(diagnostic)}`, diagnostic])).values()]
}

/** The first file for another agent in a folder. */
function otherFilesIn(folder: string, names: readonly string[], files: FileSystem): readonly Diagnostic[] {
  const path = OTHER_NAMES.filter((name) => !names.includes(name)).map((name) => join(folder, name)).find((other) => isFile(other, files))
  if (path === undefined) return []
  const problem = 'is for another agent, and is not read; set otherAgents of agents-md to read it and its like, or link AGENTS.md to it'
  return [{ code: 'OTHER_AGENT', path, problem }]
}

function isFile(path: string, files: FileSystem): boolean {
  try {
    return files.stat(path)?.kind === 'file'
  } catch {
    return false
  }
}
