import { basename, dirname, join } from 'node:path'
import { type FileContent, type FileProblem, type FileSystem, type FolderEntry, type Stamp, StampedFiles, decodeText, isAbsent, isPassing, isSameStamp, reasonOf } from '@headrace/files'
import { type Finding, finding } from './diagnostic.ts'
import { SKILL_FILE } from './skill.ts'
import { type SkillFile, readSkillFile } from './skill-file.ts'
import type { Slices } from './slices.ts'

/** A SKILL.md as it was read last. */
export interface ReadSkill extends SkillFile {
  /** Path of the file without links. */
  readonly real: string
}

/** How the folders of an index look at the disk. */
export interface FolderReader {
  readonly files: FileSystem
  readonly skills: StampedFiles<ReadSkill>
}

/** Folders in folders of a root in which skills are found. */
export const MAX_DEPTH = 4

/** Bytes of a SKILL.md that are read for its frontmatter. */
const HEAD = 65_536
/** The resolution of a folder's time, in milliseconds: names may be added without a change of it. */
const SETTLED = 50
/** Never hold skills, and may be very large. Other hidden folders may be groups, such as `.curated`. */
const SKIPPED: ReadonlySet<string> = new Set(['.git', '.hg', '.svn', '.venv', 'venv', 'node_modules', '__pycache__'])

/** @param maxSize bytes of a SKILL.md */
export function folderReader(files: FileSystem, maxSize: number, slices: Slices): FolderReader {
  const make = (content: FileContent): Promise<ReadSkill> => slices.run(() => skillIn(content))
  const problem = (found: FileProblem): ReadSkill => ({ findings: [findingFor(found, maxSize)], real: found.path })
  return { files, skills: new StampedFiles({ files, maxSize, head: HEAD, make, problem }) }
}

function skillIn({ path, real, bytes, isWhole }: FileContent): ReadSkill {
  const decoded = decodeText(bytes, !isWhole)
  if ('problem' in decoded) return { findings: [finding('error', 'FILE_NOT_TEXT', `it ${decoded.problem}`)], real }
  const names = [basename(dirname(path)), basename(dirname(real))].map((name) => name.normalize('NFC'))
  return { ...readSkillFile(decoded.text, names, isWhole), real }
}

function findingFor(problem: FileProblem, maxSize: number): Finding {
  switch (problem.code) {
    case 'NOT_A_FILE': return finding('error', 'FILE_KIND', 'it is not a regular file')
    case 'TOO_LARGE': return finding('error', 'FILE_LARGE', `it has ${problem.size} bytes, more than ${maxSize}; move what is long to other files of the skill`)
    case 'LINK_DANGLING': return finding('error', 'LINK_DANGLING', 'it is a symbolic link to nothing; mend or remove it')
    case 'LINK_LOOP': return finding('error', 'FILE_UNREADABLE', 'it cannot be read: its links lead in a circle')
    case 'OUTSIDE': return finding('error', 'FILE_UNREADABLE', 'it leads elsewhere')
    case 'UNREADABLE': return finding('error', 'FILE_UNREADABLE', `it cannot be read: ${problem.reason}`)
  }
}

/** The names in a folder, listed again only when the folder changed. */
export class FolderNames {
  readonly path: string
  /** The same for two paths to one folder; `undefined` where there is no folder. */
  id: string | undefined
  /** The folder cannot be read. */
  error: unknown
  /** It is a symbolic link to nothing. */
  isDangling = false
  private stamp: Stamp | undefined
  private list: readonly FolderEntry[] = []

  constructor(path: string) {
    this.path = path
  }

  /** The entry of a SKILL.md, in whatever case. */
  get skillFile(): FolderEntry | undefined {
    const spelt = this.list.filter(({ name }) => name.toLowerCase() === SKILL_FILE.toLowerCase())
    return spelt.find(({ name }) => name === SKILL_FILE) ?? spelt[0]
  }

  /** Folders, and links that may lead to some, in order of name. */
  get folders(): readonly FolderEntry[] {
    return this.list.filter(({ name, kind }) => (kind === 'folder' || kind === 'link') && !SKIPPED.has(name))
  }

  /** True where there are other names now; at once where the folder did not change. */
  look(files: FileSystem): boolean | Promise<boolean> {
    try {
      const status = files.stat(this.path)
      if (!status) return this.absent(files)
      this.id = status.id
      if (isSameStamp(status.stamp, this.stamp)) return false
      if (status.kind !== 'folder') return this.clear(NO_FOLDER)
      return this.read(files, status.stamp, status.changed).catch((error: unknown) => this.failed(error))
    } catch (error) {
      return this.failed(error)
    }
  }

  private async read(files: FileSystem, stamp: Stamp, changed: number): Promise<boolean> {
    const now = Date.now()
    const before = this.list
    this.list = await files.list(this.path)
    const wasWrong = this.error !== undefined
    this.error = undefined
    this.isDangling = false
    this.stamp = Math.abs(now - changed) > SETTLED ? stamp : undefined
    const isSame = ({ name, kind }: FolderEntry, index: number): boolean =>
      name === this.list[index]!.name && kind === this.list[index]!.kind
    return wasWrong || before.length !== this.list.length || !before.every(isSame)
  }

  private failed(error: unknown): boolean {
    if (!isPassing(error)) return this.clear(error)
    const isNews = reasonFor(this.error) !== reasonFor(error)
    this.error = error
    this.stamp = undefined
    return isNews
  }

  /** Most roots never exist: a dangling link is looked for only when a root vanished. */
  private absent(files: FileSystem): boolean {
    const was = this.isDangling
    if (this.error !== ABSENT || was) this.isDangling = files.lstat(this.path)?.kind === 'link'
    return this.clear(ABSENT, this.isDangling) || was !== this.isDangling
  }

  private clear(error: unknown, isDangling = false): boolean {
    this.isDangling = isDangling
    const isNews = this.list.length > 0 || reasonFor(this.error) !== reasonFor(error)
    this.error = error
    this.stamp = undefined
    this.id = undefined
    this.list = []
    return isNews
  }
}

/** The error of {@link FolderNames} where something else is at the path. */
export const NO_FOLDER = new Error('it is not a folder')
const ABSENT = Object.assign(new Error('there is nothing'), { code: 'ENOENT' })

function reasonFor(error: unknown): string | undefined {
  return error === undefined ? undefined : reasonOf(error)
}

/** A folder below a root: a skill if it holds a SKILL.md, else a group of such folders. */
export class SkillFolder {
  readonly path: string
  /** 1 for a folder in a root. */
  readonly depth: number
  /** Path of its SKILL.md, as it was found last or would be looked for. */
  file: string
  private skill: ReadSkill | undefined
  private readonly names: FolderNames
  private children: readonly SkillFolder[] = []
  constructor(path: string, depth: number) {
    this.path = path
    this.depth = depth
    this.file = join(path, SKILL_FILE)
    this.names = new FolderNames(path)
  }

  /** Nothing where there is no SKILL.md. */
  get read(): ReadSkill | undefined {
    return this.skill
  }

  /** Folders in it, where it is no skill itself; in order of name. */
  get group(): readonly SkillFolder[] {
    return this.skill ? [] : this.children
  }

  /** What is wrong with the folder itself. */
  get finding(): Finding | undefined {
    if (this.skill) return undefined
    if (this.names.isDangling) return finding('error', 'LINK_DANGLING', 'this is a symbolic link to nothing; mend or remove it')
    const { error } = this.names
    return error === undefined || error === NO_FOLDER || isAbsent(error) ? undefined : finding('error', 'FOLDER_UNREADABLE', `this folder cannot be read: ${reasonOf(error)}`)
  }

  /** The same for two paths to one folder; nothing where it was not listed. */
  get id(): string | undefined {
    return this.names.id
  }

  /** Checks for changes, and reads only what changed. True where the result is another now. */
  look(reader: FolderReader): boolean | Promise<boolean> {
    const before = this.skill
    const found = reader.skills.look(this.file)
    if (found instanceof Promise) return found.then((skill) => (skill ? this.take(before, skill) : this.search(before, reader)))
    return found ? this.take(before, found) : this.search(before, reader)
  }

  private take(before: ReadSkill | undefined, skill: ReadSkill | undefined): boolean {
    this.skill = skill
    return !isSameSkill(before, skill)
  }

  /** There is no file of that name (any more): perhaps one in another case, or folders. */
  private search(before: ReadSkill | undefined, reader: FolderReader): boolean | Promise<boolean> {
    // Deeper than this it is only said that there is a skill.
    if (this.depth > MAX_DEPTH) return this.take(before, undefined)
    const { files } = reader
    const hasOthers = this.names.look(files)
    const take = (changed: boolean): boolean | Promise<boolean> => {
      if (changed) this.setChildren()
      const spelt = this.names.skillFile
      const file = join(this.path, spelt?.name ?? SKILL_FILE)
      const isOther = file !== this.file
      this.file = file
      if (spelt === undefined || !isOther) return this.take(before, undefined) || changed
      const found = reader.skills.look(file)
      return found instanceof Promise ? found.then((skill) => this.take(before, skill)) : this.take(before, found)
    }
    return typeof hasOthers === 'boolean' ? take(hasOthers) : hasOthers.then(take)
  }

  private setChildren(): void {
    this.children = childrenOf(this.names, this.depth + 1, this.children)
  }
}

/** The folders in a folder; those that were there before are the same objects. */
export function childrenOf(names: FolderNames, depth: number, known: readonly SkillFolder[]): readonly SkillFolder[] {
  const byPath = new Map(known.map((child) => [child.path, child]))
  return names.folders.map(({ name }) => join(names.path, name)).map((path) => byPath.get(path) ?? new SkillFolder(path, depth))
}

function isSameSkill(a: ReadSkill | undefined, b: ReadSkill | undefined): boolean {
  return a === b || (a?.manifest === undefined && b?.manifest === undefined && JSON.stringify(a?.findings) === JSON.stringify(b?.findings))
}
