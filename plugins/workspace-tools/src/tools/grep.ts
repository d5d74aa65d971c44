import { stat } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import type { ToolRun } from '@headrace/agent'
import type { Config } from '../config.ts'
import { WorkspaceError, mustHaveFound, stopReason } from '../error.ts'
import { inFolder, withFile } from '../file.ts'
import { searchFile } from '../file-search.ts'
import type { FileSearched, SearchOptions } from '../file-search.ts'
import { GlobPattern } from '../glob-pattern.ts'
import { LinePattern } from '../file-search.ts'
import { ResultList } from '../result-list.ts'
import { type InFolder, walk } from '../walk.ts'
import type { Place, Workspace } from '../workspace.ts'
import { PATH, parametersOf, workspaceOf } from './tool.ts'
import type { WorkspaceTool } from './tool.ts'

export interface GrepInput {
  readonly pattern: string
  readonly path?: string
  readonly glob?: string
  readonly ignoreCase?: boolean
  readonly context?: number
  readonly filesOnly?: boolean
}

const DESCRIPTION = 'Searches the lines of text files for a regular expression (RE2 syntax) and gives path:line:text of each that matches. '
  + 'Folders such as node_modules and what .gitignore names are left out, unless the path names them.'

export function createGrep(config: Config): WorkspaceTool<GrepInput> {
  return {
    name: 'grep',
    description: DESCRIPTION,
    parameters: parametersOf({
      pattern: { type: 'string', minLength: 1, maxLength: 1_000, description: 'The expression; it is matched against each line alone.' },
      path: { ...PATH, description: 'The file or folder to search, absolute or relative to the workspace. The workspace itself by default.' },
      glob: { type: 'string', minLength: 1, maxLength: 1_000, description: 'Only files whose path below the folder matches, e.g. *.ts or src/**/*.ts.' },
      ignoreCase: { type: 'boolean', description: 'Take upper and lower case as the same.' },
      context: { type: 'integer', minimum: 0, maximum: 20, description: 'How many lines to show before and after each match.' },
      filesOnly: { type: 'boolean', description: 'Give only the paths of the files that match.' },
    }, ['pattern']),
    async execute(input, run) {
      const workspace = await workspaceOf(run, config)
      const place = await workspace.findExisting(input.path ?? '.')
      const search = new Grep(input, config, run)
      if ((await stat(place.real)).isDirectory()) await search.folder(workspace, place)
      else await search.onlyFile(workspace, place)
      mustHaveFound(search.count, run.signal)
      return search.toString()
    },
  }
}

/** Files that are searched at once: most of the time goes into waiting for the system. */
const AT_ONCE = 8

/** What one file gave; an error where it could not be read. */
type Searched = { readonly results: ResultList; readonly file: FileSearched } | { readonly error: unknown }

class Grep {
  private readonly config: Config
  private readonly results: ResultList
  private readonly options: SearchOptions
  private readonly glob: GlobPattern | undefined
  private readonly signal: AbortSignal
  private longLines = 0
  /** Where the search was ended: `path:line`. */
  private stoppedAt: string | undefined
  private unreadable = 0

  constructor(input: GrepInput, config: Config, run: ToolRun) {
    this.config = config
    this.signal = run.signal
    this.results = new ResultList(config.maxResults, config.maxOutput)
    this.glob = input.glob === undefined ? undefined : new GlobPattern(input.glob)
    this.options = {
      pattern: new LinePattern(input.pattern, input.ignoreCase === true),
      context: input.context ?? 0,
      filesOnly: input.filesOnly === true,
      maxLine: config.maxLine,
      maxSearch: Math.max(config.maxRead, config.maxLine),
      isOver: () => this.results.isFull || this.signal.aborted,
      isStopped: () => this.signal.aborted,
    }
  }

  async onlyFile(workspace: Workspace, place: Place): Promise<void> {
    const searched = await this.search(workspace, place)
    if ('error' in searched) throw searched.error
    if (searched.file.isBinary) throw new WorkspaceError('NOT_TEXT', `${place.shown} is not a text file; use bash to look into it.`)
    this.take(searched, place)
  }

  /** Searches some files ahead, and takes what they gave in the order of their paths. */
  async folder(workspace: Workspace, place: Place): Promise<void> {
    const ahead: { readonly place: Place; readonly searched: Promise<Searched> }[] = []
    const { skip, gitignore } = this.config
    const pinned: InFolder = (path, use) => inFolder(workspace, { real: path, shown: workspace.show(path) }, use)
    for await (const found of walk(place.real, { skip, gitignore, top: workspace.cwd, signal: this.signal, inFolder: pinned })) {
      if (found.isLink || this.glob?.test(relative(place.real, found.path).split(sep)) === false) continue
      const file: Place = { real: found.path, existing: found.path, missing: [], shown: workspace.show(found.path) }
      ahead.push({ place: file, searched: this.search(workspace, file) })
      const next = ahead.length >= AT_ONCE ? ahead.shift() : undefined
      if (next) this.take(await next.searched, next.place)
      if (this.options.isOver()) break
    }
    for (const { place: file, searched } of ahead) this.take(await searched, file)
  }

  get count(): number {
    return this.results.count
  }

  toString(): string {
    const notes = [
      ...(this.longLines > 0 ? [`${this.longLines} lines are longer than ${this.options.maxSearch} characters and were searched only to there`] : []),
      ...(this.unreadable > 0 ? [`${this.unreadable} files could not be read`] : []),
    ]
    if (this.results.count === 0) notes.unshift('No matches')
    if (this.signal.aborted && !this.results.isFull) {
      const where = this.stoppedAt === undefined ? '' : ` in ${this.stoppedAt}`
      notes.push(`Ended${where} before all was searched: ${stopReason(this.signal)}; narrow the path or the glob`)
    }
    return this.results.toString('There are more matches; narrow the pattern, the path or the glob, or set filesOnly', notes)
  }

  private async search(workspace: Workspace, place: Place): Promise<Searched> {
    const results = new ResultList(this.config.maxResults, this.config.maxOutput)
    try {
      return { results, file: await withFile(workspace, place, (file) => searchFile(file, results, this.options)) }
    } catch (error) {
      return { error }
    }
  }

  private take(searched: Searched, place: Place): void {
    // A file after the last result that fits may have been searched or not: that must make no difference.
    if (this.results.isFull) return
    // One unreadable file must not fail the search.
    if ('error' in searched) this.unreadable++
    else {
      const { longLines, stoppedIn } = searched.file
      this.longLines += longLines
      if (stoppedIn !== undefined) this.stoppedAt ??= `${place.shown}:${stoppedIn}`
      this.results.addAll(searched.results, this.options.context > 0 ? '--' : undefined)
    }
  }
}
