import type { Stats } from 'node:fs'
import { shownName } from '@headrace/files'
import { askedChange } from '../asked.ts'
import type { Config } from '../config.ts'
import { WorkspaceError, mustHaveNoMark } from '../error.ts'
import { readBytes, withFile } from '../file.ts'
import { diffOf, recordOf, recordPath } from '../file-record.ts'
import { type ReadFiles, filesReadBy } from '../read-files.ts'
import { replaceFile, withFileLock } from '../replace-file.ts'
import { sniff } from '../text.ts'
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
    // Calls of one answer run in parallel; later ones count on this one having happened.
    sequential: true,
    ask: ({ path, content }, at) => askedChange('Write', path, at, config, () => content),
    async execute({ path, content }, run) {
      mustHaveNoMark(content)
      const workspace = await workspaceOf(run, config)
      const place = await workspace.find(path)
      if (path.endsWith('/')) throw new WorkspaceError('NOT_A_FILE', `${shownName(path)} names a folder; write makes the folders that a file needs.`)
      const bytes = Buffer.from(content.toWellFormed(), 'utf8')
      return withFileLock(place.real, async () => {
        const known = filesReadBy(run)
        const name = recordPath(workspace, place)
        try {
          const old = await oldFile(workspace, place, await known.digestOf(name), known, config)
          const isNew = await replaceFile(workspace, place, bytes, { signal: run.signal, ...(old?.mustStay && { expected: old.stats }) })
          known.keep(bytes)
          const diff = isNew ? diffOf(name, '', content) : old?.text === undefined ? undefined : diffOf(name, old.text, content)
          return { content: `${isNew ? 'Created' : 'Replaced'} ${place.shown} (${bytes.length} bytes).`, details: recordOf(name, bytes, diff) }
        } catch (error) {
          // The record counts as what the model knows, so for the next call too.
          if (error instanceof WorkspaceError && error.details) return { content: error.message, error: true, details: error.details }
          throw error
        }
      })
    },
  }
}

/** The file that is to be replaced. */
interface OldFile {
  readonly stats: Stats
  /** What it says, where it is text: for the diff. */
  readonly text?: string
  /** The model knows the current content: else it may not be replaced. */
  readonly mustStay: boolean
}

/** @throws WorkspaceError where the file is not as the model knows it */
async function oldFile(
  workspace: Workspace, place: Place, digest: string | undefined, known: ReadFiles, { maxFile }: Config,
): Promise<OldFile | undefined> {
  const path = recordPath(workspace, place)
  if (place.missing.length > 0) {
    if (digest !== undefined) known.mustBeKnown(digest, undefined, path, place.shown)
    return undefined
  }
  return withFile(workspace, place, async (file) => {
    if (file.stats.size > maxFile) return { stats: file.stats, mustStay: false }
    const bytes = await readBytes(file, maxFile)
    if (digest !== undefined) known.mustBeKnown(digest, bytes, path, place.shown)
    const isText = sniff(bytes.subarray(0, 8_192)) === undefined
    return { stats: file.stats, mustStay: digest !== undefined, ...(isText && { text: bytes.toString('utf8') }) }
  })
}
