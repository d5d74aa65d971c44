import { stat } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import type { ToolRun } from '@headrace/agent'
import type { Config } from '../config.ts'
import { WorkspaceError, mustGoOn } from '../error.ts'
import { withFile } from '../file.ts'
import { searchFile } from '../file-search.ts'
import type { FileSearched, SearchOptions } from '../file-search.ts'
import { GlobPattern } from '../glob-pattern.ts'
import { LinePattern } from '../line-pattern.ts'
import { ResultList } from '../result-list.ts'
import { walk } from '../walk.ts'
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
      mustGoOn(run.signal)
      return search.toString()
    },
  }
}

class Grep {
  private readonly config: Config
  private readonly results: ResultList
  private readonly options: SearchOptions
  private readonly glob: GlobPattern | undefined
  private longLines = 0
  private unreadable = 0

  constructor(input: GrepInput, config: Config, run: ToolRun) {
    this.config = config
    this.results = new ResultList(config.maxResults, config.maxOutput)
    this.glob = input.glob === undefined ? undefined : new GlobPattern(input.glob)
    this.options = {
      pattern: new LinePattern(input.pattern, input.ignoreCase === true),
      context: input.context ?? 0,
      filesOnly: input.filesOnly === true,
      maxLine: config.maxLine,
      maxSearch: Math.max(config.maxRead, config.maxLine),
      signal: run.signal,
    }
  }

  async onlyFile(workspace: Workspace, place: Place): Promise<void> {
    const { isBinary } = await this.file(workspace, place)
    if (isBinary) throw new WorkspaceError('NOT_TEXT', `${place.shown} is not a text file; use bash to look into it.`)
  }

  async folder(workspace: Workspace, place: Place): Promise<void> {
    const { skip, gitignore } = this.config
    for await (const found of walk(place.real, { skip, gitignore, top: workspace.cwd, signal: this.options.signal })) {
      if (found.isLink || this.glob?.test(relative(place.real, found.path).split(sep)) === false) continue
      const at = { real: found.path, existing: found.path, missing: [], shown: workspace.show(found.path) }
      // One file that nobody may read is no reason to find nothing.
      await this.file(workspace, at).catch(() => { this.unreadable++ })
      if (this.results.isFull) return
    }
  }

  toString(): string {
    const notes = [
      ...(this.longLines > 0 ? [`${this.longLines} lines are longer than ${this.options.maxSearch} characters and were searched only to there`] : []),
      ...(this.unreadable > 0 ? [`${this.unreadable} files could not be read`] : []),
    ]
    if (this.results.count === 0) notes.unshift('No matches')
    return this.results.toString('There are more matches; narrow the pattern, the path or the glob, or set filesOnly', notes)
  }

  private async file(workspace: Workspace, place: Place): Promise<FileSearched> {
    const searched = await withFile(workspace, place, (file) => searchFile(file, this.results, this.options))
    this.longLines += searched.longLines
    return searched
  }
}
