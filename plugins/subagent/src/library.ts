import { homedir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import type { Agent } from '@headrace/agent'
import {
  type FileSystem, type FolderEntry, type Stamp, StampedFiles, byCodeUnits, configHome, decodeText, expandHome, foldersToProject,
  isSameStamp,
} from '@headrace/files'
import type { Config } from './config.ts'
import { type Definition, readDefinition } from './definition.ts'

/** The agents that files define for a folder, by name; and which files cannot be used, and why. */
export interface Definitions {
  readonly byName: ReadonlyMap<string, Definition>
  readonly problems: readonly { readonly file: string; readonly problem: string }[]
}

type Read = Definition | { readonly problem: string }
/** Parsed files; an unchanged file gives the same object. */
type Found = readonly (readonly [file: string, read: Read])[]

/** Bytes of a file of an agent. */
const MAX_SIZE = 200_000
/** Files of one root that are read. */
const MAX_FILES = 500
/** Folders of one root that are looked into, and how deep they stand in each other: groups of agents. */
const MAX_FOLDERS = 100
const MAX_DEPTH = 4
const FILE = /^[^.].*\.md$/i
/** The resolution of a folder's time, in milliseconds: names may be added without a change of it. */
const SETTLED = 50

/** Reads the files of agents; each is read once, and again when it changed. */
export class AgentLibrary {
  private readonly config: Config
  private readonly files: FileSystem
  private readonly read: StampedFiles<Read>
  private readonly lists = new Map<string, { readonly stamp: Stamp | undefined; readonly entries: readonly FolderEntry[] }>()
  private readonly latest = new Map<string, { readonly found: Found; readonly definitions: Definitions }>()

  constructor(config: Config, files: FileSystem) {
    this.config = config
    this.files = files
    this.read = new StampedFiles<Read>({
      files,
      maxSize: MAX_SIZE,
      make: ({ path, bytes }) => {
        const decoded = decodeText(bytes)
        return 'problem' in decoded ? { problem: `it ${decoded.problem}` } : readDefinition(decoded.text, path)
      },
      problem: ({ code }) => ({ problem: `it cannot be read (${code})` }),
    })
  }

  /** The agents for a folder now; the first file with a name wins. The same object where nothing changed. */
  async look({ cwd }: Pick<Agent, 'cwd'>): Promise<Definitions> {
    const found: [string, Read][] = []
    for (const root of this.rootsOf(cwd)) {
      for (const file of (await this.filesIn(root)).slice(0, MAX_FILES)) {
        const read = await this.read.look(file)
        if (read) found.push([file, read])
      }
    }
    const latest = this.latest.get(cwd)
    const isSame = latest?.found.length === found.length && found.every(([, read], index) => latest.found[index]![1] === read)
    if (latest && isSame) return latest.definitions
    const definitions = definitionsOf(found)
    this.latest.set(cwd, { found, definitions })
    return definitions
  }

  private rootsOf(cwd: string): readonly string[] {
    const { roots, project, user, projectMarkers } = this.config
    const own = ['.headrace/agents', '.claude/agents']
    return [
      ...roots.map((root) => resolve(cwd, expandHome(root))),
      ...(project ? foldersToProject(cwd, projectMarkers, this.files).flatMap((folder) => own.map((path) => join(folder, path))) : []),
      ...(user ? [join(configHome(), 'headrace/agents'), join(homedir(), '.claude/agents')] : []),
    ]
  }

  /** Files of a root, folder by folder; those of a folder come before those of the folders in it. */
  private async filesIn(root: string): Promise<readonly string[]> {
    const [files, seen] = [[] as string[], new Set<string>()]
    let level: readonly string[] = [root]
    for (let depth = 0; depth < MAX_DEPTH; depth++) {
      const next: string[] = []
      for (const folder of level) {
        const entries = await this.list(folder)
        if (entries.length === 0) continue
        // A link may lead back to a folder that was looked into.
        const real = await this.files.realpath(folder).catch(() => folder)
        if (seen.has(real) || seen.size >= MAX_FOLDERS) continue
        seen.add(real)
        for (const { name, kind } of entries) {
          const path = join(folder, name)
          if (kind !== 'folder' && FILE.test(name)) files.push(path)
          else if (kind === 'folder' || this.isFolder(path)) next.push(path)
        }
      }
      level = next
    }
    return files
  }

  private isFolder(link: string): boolean {
    try {
      return this.files.stat(link)?.kind === 'folder'
    } catch {
      return false
    }
  }

  private async list(folder: string): Promise<readonly FolderEntry[]> {
    try {
      const status = this.files.stat(folder)
      if (status?.kind !== 'folder') return []
      const known = this.lists.get(folder)
      if (known && isSameStamp(status.stamp, known.stamp)) return known.entries
      const isSettled = Date.now() - status.changed > SETTLED
      const entries = (await this.files.list(folder)).filter(({ name, kind }) => isCandidate(name, kind))
      this.lists.set(folder, { stamp: isSettled ? status.stamp : undefined, entries })
      return entries
    } catch {
      return []
    }
  }
}

/** Files of agents, and what may be a folder of them. */
function isCandidate(name: string, kind: FolderEntry['kind']): boolean {
  if (kind === 'folder' || kind === 'link') return !name.startsWith('.') && name !== 'node_modules'
  return FILE.test(name)
}

function definitionsOf(found: Found): Definitions {
  const byName = new Map<string, Definition>()
  const problems: { file: string; problem: string }[] = []
  for (const [file, read] of found) {
    if ('problem' in read) problems.push({ file, problem: read.problem })
    else if (byName.has(read.name)) problems.push({ file, problem: `${basename(byName.get(read.name)!.file)} comes before it and has its name, ${read.name}` })
    else byName.set(read.name, read)
  }
  return { byName: new Map([...byName].sort(([a], [b]) => byCodeUnits(a, b))), problems }
}
