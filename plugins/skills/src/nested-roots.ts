import { basename, dirname, join, resolve } from 'node:path'
import type { Agent } from '@headrace/agent'
import { PATH_FIELDS, type FileSystem, foldersToProject, isInside, touchedPaths } from '@headrace/files'
import { type JsonObject, callsOf } from '@headrace/message'
import type { SessionEvent } from '@headrace/session'
import type { Config } from './config.ts'
import { IN_FOLDER, type Root } from './skill-index.ts'

const FIELDS: ReadonlySet<string> = new Set(PATH_FIELDS)
/** Nothing below them is this project's. */
const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules'])

/**
 * Folders of skills below or beside an agent's own folder, in its project, that calls of the model touched. They are
 * read from the visible history when the agent starts, and from each later call; once found they stay.
 */
export class NestedRoots {
  private readonly cwd: string
  private readonly files: FileSystem
  private readonly top: string
  private readonly found = new Map<string, Root>()

  constructor({ cwd, session }: Agent, { projectMarkers }: Config, files: FileSystem) {
    this.cwd = resolve(cwd)
    this.files = files
    this.top = foldersToProject(this.cwd, projectMarkers, files).at(-1)!
    for (const { message } of session.entries()) for (const call of callsOf(message)) this.touch(call.arguments)
  }

  get roots(): readonly Root[] {
    return [...this.found.values()]
  }

  /** True where an event named a folder of skills that was not known. */
  take(event: SessionEvent): boolean {
    if (event.type !== 'assistant/message') return false
    return callsOf(event.data.message).map((call) => this.touch(call.arguments)).includes(true)
  }

  /** @param text the arguments of a call, as the model wrote them */
  private touch(text: string): boolean {
    const before = this.found.size
    for (const path of touchedPaths(inputIn(text), FIELDS)) for (const folder of this.foldersTo(path)) this.look(folder)
    return this.found.size > before
  }

  /** Folders from below the project's root to a path that are not on the way to the agent's, whose skills it has anyway. */
  private foldersTo(path: string): readonly string[] {
    if (path.includes('\0')) return []
    const folders: string[] = []
    for (let at = resolve(this.cwd, path); at !== this.top && isInside(this.top, at); at = dirname(at)) {
      if (SKIPPED.has(basename(at))) folders.length = 0
      else if (!isInside(at, this.cwd)) folders.unshift(at)
    }
    return folders
  }

  private look(folder: string): void {
    for (const path of IN_FOLDER.map((name) => join(folder, name))) {
      if (!this.found.has(path) && isFolder(path, this.files)) this.found.set(path, { path, source: 'nested' })
    }
  }
}

function inputIn(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as JsonObject : {}
  } catch {
    return {}
  }
}

function isFolder(path: string, files: FileSystem): boolean {
  try {
    return files.stat(path)?.kind === 'folder'
  } catch {
    return false
  }
}
