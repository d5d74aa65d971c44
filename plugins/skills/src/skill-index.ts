import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { type FileSystem, configHome, expandHome, foldersToProject, isAbsent, reasonOf } from '@headrace/files'
import type { Config } from './config.ts'
import type { Diagnostic } from './diagnostic.ts'
import { FolderNames, type FolderReader, MAX_DEPTH, type ReadSkill, SkillFolder, childrenOf, folderReader } from './skill-folder.ts'
import type { Source } from './skill.ts'
import { Slices, each } from './slices.ts'

/** A folder of skills, and of groups of skills. */
export interface Root {
  /** Absolute. */
  readonly path: string
  readonly source: Source
}

/** A SKILL.md that was found. */
export interface Candidate {
  readonly source: Source
  /** Absolute path of its folder, as it was found. */
  readonly folder: string
  readonly file: string
  readonly read: ReadSkill
}

/** What is in some roots. The same object until something changed. */
export interface Survey {
  /** In order of precedence: of roots, then the less deep, then by path. */
  readonly candidates: readonly Candidate[]
  /** What is wrong with roots and folders. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Where skills are in a folder. */
export const IN_FOLDER: readonly string[] = [join('.agents', 'skills'), join('.claude', 'skills')]

/** The roots of an agent's folder in order of precedence: the configured, the project's from the folder up, the user's. */
export function rootsOf(cwd: string, config: Config, files: FileSystem): readonly Root[] {
  const home = homedir()
  const configured = config.roots.map((path) => resolve(cwd, expandHome(path)))
  const project = config.project
    ? foldersToProject(cwd, config.projectMarkers, files).flatMap((folder) =>
        IN_FOLDER.map((path) => join(folder, path)),
      )
    : []
  const user = config.user ? [join(configHome(), 'headrace', 'skills'), ...IN_FOLDER.map((path) => join(home, path))] : []
  const all = ([['config', configured], ['project', project], ['user', user]] as const).flatMap(([source, paths]) => paths.map((path): Root => ({ path, source })))
  return all.filter(({ path }, index) => all.findIndex((other) => other.path === path) === index)
}

/** Files that are read at once: enough to keep Node's four threads busy. */
const AT_ONCE = 16
/** Folders of a root that are no skills. Of one with more, such as a home, the rest is not looked at, which is reported. */
const MAX_GROUPS = 500

/**
 * The skills in some roots. A check without changes costs one stat for each root and skill, and two for each other
 * folder.
 */
export class SkillIndex {
  private readonly find: () => readonly Root[]
  private readonly reader: FolderReader
  private readonly slices = new Slices()
  private roots: readonly SkillRoot[] | undefined
  private survey: Survey | undefined
  private running: Promise<Survey> | undefined
  private waiting: Promise<Survey> | undefined

  /**
   * @param find the roots, called at the first look
   * @param maxSize bytes of a SKILL.md
   */
  constructor(find: () => readonly Root[], files: FileSystem, maxSize: number) {
    this.find = find
    this.reader = folderReader(files, maxSize, this.slices)
  }

  /** What is there now. One check at a time; calls that come meanwhile share the next one. */
  look(): Promise<Survey> {
    if (!this.running) return (this.running = this.sweep().finally(() => (this.running = undefined)))
    return (this.waiting ??= this.running.catch(() => undefined).then(() => {
      this.waiting = undefined
      return this.look()
    }))
  }

  private async sweep(): Promise<Survey> {
    this.roots ??= this.find().map((root) => new SkillRoot(root))
    const changes = await Promise.all(this.roots.map((root) => root.look(this.reader.files)))
    const roots = distinct(this.roots)
    let isChanged = changes.includes(true)
    const seen = new Set(roots.map(({ names }) => names.id))
    for (const root of roots) root.restart()
    for (let level = roots.flatMap((root) => root.members.map((folder) => ({ root, folder }))); level.length > 0;) {
      if (await this.lookAt(level.map(({ folder }) => folder))) isChanged = true
      level = level.flatMap(({ root, folder }) => root.add(folder, seen).map((child) => ({ root, folder: child })))
    }
    if (this.survey && !isChanged) return this.survey
    return (this.survey = { candidates: roots.flatMap((root) => root.candidates), diagnostics: roots.flatMap((root) => root.diagnostics) })
  }

  /** True where any of the folders changed. */
  private async lookAt(folders: readonly SkillFolder[]): Promise<boolean> {
    let isChanged = false
    const note = (is: boolean): undefined => {
      isChanged ||= is
      return undefined
    }
    await each(folders, AT_ONCE, this.slices, (folder) => {
      const changed = folder.look(this.reader)
      return typeof changed === 'boolean' ? note(changed) : changed.then(note)
    })
    return isChanged
  }
}

/** A root, and what one sweep found in it. */
class SkillRoot {
  readonly names: FolderNames
  private readonly root: Root
  private children: readonly SkillFolder[] = []
  /** The root itself, where it is configured and a skill. */
  private own: SkillFolder | undefined
  private found: SkillFolder[] = []
  private groups = 0

  constructor(root: Root) {
    this.root = root
    this.names = new FolderNames(root.path)
  }

  /** Looks which folders there are, and lists them only where that changed. True where there are others now. */
  async look(files: FileSystem): Promise<boolean> {
    if (!await this.names.look(files)) return false
    this.children = childrenOf(this.names, 1, this.children)
    this.own = this.root.source === 'config' && this.names.skillFile ? this.own ?? new SkillFolder(this.root.path, 0) : undefined
    return true
  }

  get members(): readonly SkillFolder[] {
    return this.own ? [this.own, ...this.children] : this.children
  }

  restart(): void {
    this.found = []
    this.groups = 0
  }

  /** Takes a folder that was looked at, and gives those in it that are to be looked at too. */
  add(folder: SkillFolder, seen: Set<string | undefined>): readonly SkillFolder[] {
    this.found.push(folder)
    const { group, id } = folder
    if (group.length === 0 || seen.has(id)) return []
    seen.add(id)
    return ++this.groups > MAX_GROUPS ? [] : group
  }

  get candidates(): readonly Candidate[] {
    return this.found.flatMap(({ read, path, file, depth }) =>
      read && depth <= MAX_DEPTH ? [{ source: this.root.source, folder: path, file, read }] : [],
    )
  }

  get diagnostics(): readonly Diagnostic[] {
    return [...this.ownDiagnostics(), ...this.found.flatMap((folder): readonly Diagnostic[] => {
      const { read, path, file, depth, finding } = folder
      if (finding) return [{ ...finding, path }]
      if (!read?.manifest || depth <= MAX_DEPTH) return []
      return [{ severity: 'error', code: 'FOLDER_DEEP', path: file, message: `it is more than ${MAX_DEPTH} folders deep in its folder of skills; move it up` }]
    })]
  }

  private ownDiagnostics(): readonly Diagnostic[] {
    const { names: { error, isDangling, skillFile }, root: { path, source } } = this
    const refused = (code: Diagnostic['code'], message: string, at = path): readonly Diagnostic[] => [{ severity: 'error', code, path: at, message }]
    if (isDangling) return refused('LINK_DANGLING', 'this folder of skills is a symbolic link to nothing; mend or remove it')
    if (error !== undefined && !isAbsent(error)) return refused('ROOT_UNREADABLE', `this folder of skills cannot be read: ${reasonOf(error)}`)
    if (error !== undefined) {
      return source === 'config' ? refused('ROOT_UNREADABLE', 'this folder of skills is not there; make it, or take it out of the config') : []
    }
    const file = skillFile && source !== 'config' ? refused('ROOT_FILE', `it lies in the folder of skills itself; move it to a folder of its own`, join(path, skillFile.name)) : []
    const large = this.groups > MAX_GROUPS ? refused('ROOT_LARGE', `it has more than ${MAX_GROUPS} folders that are no skills, and the rest is not looked at; name folders of skills`) : []
    return [...file, ...large]
  }
}

/** Roots that are links to one folder, once. */
function distinct(roots: readonly SkillRoot[]): readonly SkillRoot[] {
  return roots.filter(({ names: { id } }, index) => id === undefined || roots.findIndex((other) => other.names.id === id) === index)
}
