import { askedChange } from '../asked.ts'
import type { Config } from '../config.ts'
import { WorkspaceError, mustHaveNoMark } from '../error.ts'
import { readBytes, withFile } from '../file.ts'
import { diffOf, recordOf, recordPath } from '../file-record.ts'
import { filesReadBy } from '../read-files.ts'
import { replaceFile, withFileLock } from '../replace-file.ts'
import { replaceText } from '../replacement.ts'
import { sniff } from '../text.ts'
import { PATH, parametersOf, workspaceOf } from './tool.ts'
import type { WorkspaceTool } from './tool.ts'

export interface EditInput {
  readonly path: string
  readonly old: string
  readonly new: string
  readonly all?: boolean
}

const DESCRIPTION = 'Replaces a piece of text in a file. The old text must be exactly as in the file, white space included and without the '
  + 'line numbers that read shows, and must be there exactly once, unless all is set. Line breaks and encoding of the file are kept.'

export function createEdit(config: Config): WorkspaceTool<EditInput> {
  return {
    name: 'edit',
    description: DESCRIPTION,
    parameters: parametersOf({
      path: PATH,
      old: { type: 'string', minLength: 1, description: 'The text to replace.' },
      new: { type: 'string', description: 'What to put in its place.' },
      all: { type: 'boolean', description: 'Replace it everywhere in the file.' },
    }, ['path', 'old', 'new']),
    sequential: true,
    ask: (input, at) => askedChange('Edit', input.path, at, config, (text) => edited(text, input)),
    async execute(input, run) {
      mustHaveNoMark(input.old)
      mustHaveNoMark(input.new)
      const workspace = await workspaceOf(run, config)
      const place = await workspace.findExisting(input.path)
      return withFileLock(place.real, async () => {
        const known = filesReadBy(run)
        const path = recordPath(workspace, place)
        const { bytes, stats } = await withFile(workspace, place, async (file) => ({
          bytes: await readBytes(file, config.maxFile),
          stats: file.stats,
        }))
        const digest = await known.digestOf(path)
        if (digest !== undefined) known.mustBeKnown(digest, bytes, path, place.shown)
        const text = decodeWhole(bytes, place.shown)
        const done = replaceText(text, input, place.shown)
        const edited = Buffer.from(done.text.toWellFormed(), 'utf8')
        await replaceFile(workspace, place, edited, { signal: run.signal, expected: stats })
        known.keep(edited)
        const lines = `${done.count === 1 ? 'line' : 'lines'} ${done.lines.join(', ')}${done.count > done.lines.length ? ', …' : ''}`
        const content = `Edited ${place.shown}: replaced ${done.count === 1 ? 'the text' : `${done.count} places`} at ${lines}.`
        return { content, details: recordOf(path, edited, diffOf(path, text, done.text)) }
      })
    },
  }
}

/** The text as it would be; undefined where the edit would be refused. */
function edited(text: string, input: EditInput): string | undefined {
  try {
    return replaceText(text, input, input.path).text
  } catch {
    return undefined
  }
}

/** The text of a file, its byte order mark included, so that it is written back. */
function decodeWhole(bytes: Uint8Array, shown: string): string {
  if (sniff(bytes.subarray(0, 8_192)) === undefined) {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    } catch { /* said below */ }
  }
  throw new WorkspaceError('NOT_TEXT', `${shown} is not UTF-8 text; an edit would damage it. Use bash.`)
}
