import type { Stats } from 'node:fs'
import { shownName } from '@headrace/files'
import { askedChange } from '../asked.ts'
import type { Config } from '../config.ts'
import { WorkspaceError, mustHaveNoMark } from '../error.ts'
import { readBytes, withFile } from '../file.ts'
import { type ReadFiles, filesReadBy } from '../read-files.ts'
import { replaceFile, withFileLock } from '../replace-file.ts'
import type { Place, Workspace } from '../workspace.ts'
import { PATH, parametersOf, workspaceOf } from './tool.ts'
import type { WorkspaceTool } from './tool.ts'

export interface WriteInput {
  readonly path: string
  readonly content: string
}

const DESCRIPTION = 'Writes a whole file, new or in the place of the old one. Makes the folders it needs. To change a part of a file use edit.'

export function createWrite(config: Config): WorkspaceTool<WriteInput> {
  return {
    name: 'write',
    description: DESCRIPTION,
    parameters: parametersOf({ path: PATH, content: { type: 'string', description: 'The whole text of the file.' } }, ['path', 'content']),
    // Calls of one message run in parallel; what the model wrote behind this one counts on its having happened.
    sequential: true,
    ask: ({ path, content }, at) => askedChange('Write', path, at, config, () => content),
    async execute({ path, content }, run) {
      mustHaveNoMark(content)
      const workspace = await workspaceOf(run, config)
      const place = await workspace.find(path)
      if (path.endsWith('/')) throw new WorkspaceError('NOT_A_FILE', `${shownName(path)} names a folder; write makes the folders that a file needs.`)
      const bytes = Buffer.from(content.toWellFormed(), 'utf8')
      const isNew = await withFileLock(place.real, async () => {
        const known = filesReadBy(run)
        const expected = known.has(place.real) ? await mustBeAsRead(workspace, place, known, config) : undefined
        const created = await replaceFile(workspace, place, bytes, { signal: run.signal, ...(expected && { expected }) })
        known.note(place.real, bytes)
        return created
      })
      return `${isNew ? 'Created' : 'Replaced'} ${place.shown} (${bytes.length} bytes).`
    },
  }
}

/** The status of a file that is still as the model knows it; nothing where it is too large to tell. */
async function mustBeAsRead(workspace: Workspace, place: Place, known: ReadFiles, { maxFile }: Config): Promise<Stats | undefined> {
  if (place.missing.length > 0) {
    known.mustBeKnown(place.real, undefined, place.shown)
    return undefined
  }
  return withFile(workspace, place, async (file) => {
    if (file.stats.size > maxFile) return undefined
    known.mustBeKnown(place.real, await readBytes(file, maxFile), place.shown)
    return file.stats
  })
}
