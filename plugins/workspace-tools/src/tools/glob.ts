import { stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import type { ToolRun } from '@headrace/agent'
import type { Config } from '../config.ts'
import { WorkspaceError, mustHaveFound, stopReason } from '../error.ts'
import { inFolder } from '../file.ts'
import { GlobPattern } from '../glob-pattern.ts'
import { isMagic } from '../glob-pattern.ts'
import { ResultList } from '../result-list.ts'
import { walk } from '../walk.ts'
import type { Workspace } from '../workspace.ts'
import { PATH, parametersOf, workspaceOf } from './tool.ts'
import type { WorkspaceTool } from './tool.ts'

export interface GlobInput {
  readonly pattern: string
  readonly path?: string
}

const DESCRIPTION = 'Finds files by a pattern of their paths, e.g. src/**/*.{ts,tsx}. A pattern without / is for names at any depth. '
  + 'Folders such as node_modules and what .gitignore names are left out, unless the path or the beginning of the pattern names them.'

export function createGlob(config: Config): WorkspaceTool<GlobInput> {
  return {
    name: 'glob',
    description: DESCRIPTION,
    parameters: parametersOf({
      pattern: { type: 'string', minLength: 1, maxLength: 1_000, description: 'With *, ?, [a-z], {a,b} and **.' },
      path: { ...PATH, description: 'The folder to search, absolute or relative to the workspace. The workspace itself by default.' },
    }, ['pattern']),
    async execute(input, run) {
      const workspace = await workspaceOf(run, config)
      const { folder, pattern } = splitPattern(input)
      const start = await findFolder(workspace, folder)
      const results = new ResultList(config.maxResults, config.maxOutput)
      for await (const path of findFiles(start, pattern, workspace, config, run)) {
        if (!results.add(workspace.show(path))) break
      }
      mustHaveFound(results.count, run.signal)
      const notes = run.signal.aborted && !results.isFull ? [`Ended before all folders were searched: ${stopReason(run.signal)}; narrow the pattern or the path`] : []
      if (results.count === 0) notes.unshift('No files found')
      return results.toString('There are more files; narrow the pattern or the path', notes)
    },
  }
}

/**
 * The plain folders at the start of a pattern belong to the path: the workspace checks them, and only they are walked.
 */
function splitPattern({ pattern, path = '.' }: GlobInput): { readonly folder: string; readonly pattern: string } {
  const names = pattern.split('/')
  const firstMagic = names.findIndex(isMagic)
  const plain = names.slice(0, firstMagic < 0 ? -1 : firstMagic)
  const rest = names.slice(plain.length)
  if (rest.includes('..')) throw new WorkspaceError('PATTERN_INVALID', 'A pattern can have .. only at its beginning.')
  const folder = plain.join('/').replace(/\\(.)/g, '$1')
  const isRooted = pattern.startsWith('/') || isAbsolute(folder)
  return {
    folder: isRooted ? folder || '/' : [path, ...(folder === '' ? [] : [folder])].join('/'),
    // The rest of the pattern is bound to that folder.
    pattern: plain.length === 0 ? pattern : `./${rest.join('/')}`,
  }
}

async function findFolder(workspace: Workspace, path: string): Promise<string> {
  const place = await workspace.findExisting(path)
  if (!(await stat(place.real)).isDirectory()) throw new WorkspaceError('NOT_A_FOLDER', `${place.shown} is a file; give the folder it is in.`)
  return place.real
}

async function* findFiles(start: string, text: string, workspace: Workspace, config: Config, run: ToolRun): AsyncGenerator<string> {
  const pattern = new GlobPattern(text)
  const stateOf = (names: readonly string[]) => names.reduce((state, name) => pattern.step(state, name), pattern.start())
  const found = walk(start, {
    ...{ skip: config.skip, gitignore: config.gitignore, top: workspace.cwd, signal: run.signal },
    inFolder: (path, use) => inFolder(workspace, { real: path, shown: workspace.show(path) }, use),
    enter: (names) => stateOf(names).length > 0,
  })
  for await (const file of found) if (pattern.matches(stateOf(file.names))) yield file.path
}
