import { shownName } from '@headrace/files'
import type { Config } from '../config.ts'
import { WorkspaceError } from '../error.ts'
import { withFileLock } from '../replace-file.ts'
import { replaceFile } from '../replace-file.ts'
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
    ask: ({ path }) => `Write ${shownName(path)}?`,
    async execute({ path, content }, run) {
      const workspace = await workspaceOf(run, config)
      const place = await workspace.find(path)
      if (path.endsWith('/')) throw new WorkspaceError('NOT_A_FILE', `${shownName(path)} names a folder; write makes the folders that a file needs.`)
      const bytes = Buffer.from(content.toWellFormed(), 'utf8')
      const isNew = await withFileLock(place.real, () => replaceFile(workspace, place, bytes, { signal: run.signal }))
      return `${isNew ? 'Created' : 'Replaced'} ${place.shown} (${bytes.length} bytes).`
    },
  }
}
