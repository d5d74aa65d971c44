import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Dirent } from 'node:fs'
import { byCodeUnits, codeOf, shownName } from '@headrace/files'
import type { Config } from '../config.ts'
import { WorkspaceError, fileError, stopReason } from '../error.ts'
import { inFolder } from '../file.ts'
import { ResultList } from '../result-list.ts'
import { PATH, parametersOf, workspaceOf } from './tool.ts'
import type { WorkspaceTool } from './tool.ts'

export interface ListInput {
  readonly path?: string
}

const DESCRIPTION = 'Lists what is in one folder: folders with a / behind, files with their size in bytes, links with where they lead.'

export function createList(config: Config): WorkspaceTool<ListInput> {
  return {
    name: 'list',
    description: DESCRIPTION,
    parameters: parametersOf({ path: { ...PATH, description: 'Absolute, or relative to the workspace. The workspace itself by default.' } }, []),
    async execute({ path = '.' }, run) {
      const workspace = await workspaceOf(run, config)
      const place = await workspace.findExisting(path)
      return inFolder(workspace, place, async (folder) => {
        const entries = await readdir(folder, { withFileTypes: true })
        if (entries.length === 0) return '[The folder is empty.]'
        const results = new ResultList(config.maxResults, config.maxOutput)
        for (const entry of entries.sort((a, b) => byCodeUnits(a.name, b.name))) {
          if (results.isFull || run.signal.aborted) break
          results.add(await shownEntry(folder, entry))
        }
        const rest = `${entries.length - results.count} more entries`
        if (run.signal.aborted && !results.isFull) return results.toString('', [`Ended: ${stopReason(run.signal)}; there are ${rest}`])
        return results.toString(`${rest}; glob with a pattern finds some of them`)
      }).catch((error: unknown) => {
        if (codeOf(error) === 'ENOTDIR') throw new WorkspaceError('NOT_A_FOLDER', `${place.shown} is a file; read shows what is in it.`)
        throw fileError(error, 'list', place.shown)
      })
    },
  }
}

async function shownEntry(folder: string, entry: Dirent): Promise<string> {
  const path = join(folder, entry.name)
  const name = shownName(entry.name)
  if (entry.isDirectory()) return `${name}/`
  if (entry.isSymbolicLink()) return `${name} -> ${shownName(await readlink(path).catch(() => '?'))}`
  if (!entry.isFile()) return `${name} (not a regular file)`
  const stats = await lstat(path).catch(() => undefined)
  return `${name}\t${stats?.size ?? '?'}`
}
