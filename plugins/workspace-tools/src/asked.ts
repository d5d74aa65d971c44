import { resolve } from 'node:path'
import type { ToolAsked } from '@headrace/agent'
import { changedLines } from '@headrace/consent'
import { shownName } from '@headrace/files'
import type { Config } from './config.ts'
import { readBytes, withFile } from './file.ts'
import { sniff } from './text.ts'
import { type Place, Workspace } from './workspace.ts'

/** UTF-16 units of a diff that a question shows; the call's arguments have all of it. */
const MAX_DIFFERENCE = 40_000

/** The new text for the current one; undefined where that cannot be told. */
type Change = (text: string) => string | undefined

/** The question whether a file may be changed: the real path, if it differs, and the lines that change. */
export async function askedChange(
  verb: 'Write' | 'Edit', path: string, { agent }: ToolAsked, config: Config, change: Change,
): Promise<string> {
  const question = `${verb} ${shownName(path)}?`
  try {
    const workspace = await Workspace.open(agent.cwd, config.roots)
    const place = await workspace.find(path)
    const isElsewhere = place.real !== resolve(workspace.cwd, path)
    const where = isElsewhere ? `${verb} ${shownName(path)}, which leads to ${place.shown}?` : question
    return [...await differenceOf(workspace, place, config, change), where].join('\n')
  } catch {
    // The call itself will fail too, and say why.
    return question
  }
}

async function differenceOf(workspace: Workspace, place: Place, config: Config, change: Change): Promise<readonly string[]> {
  if (place.missing.length > 0) return []
  const bytes = await withFile(workspace, place, (file) => readBytes(file, config.maxFile)).catch(() => undefined)
  if (!bytes || sniff(bytes.subarray(0, 8_192)) !== undefined) return []
  const before = Buffer.from(bytes).toString('utf8')
  const after = change(before)
  if (after === undefined) return []
  const { lines, removed, added } = changedLines(before, after)
  const text = lines.join('\n')
  return text.length > MAX_DIFFERENCE ? [`${removed} lines go, ${added} lines come`] : lines
}

/** The beginning and the end of a command; the call's arguments have all of it. */
export function askedCommand(command: string): string {
  const line = command.toWellFormed().replace(/\n/g, ' ⏎ ')
  if (line.length <= 2 * MAX_COMMAND) return line
  return `${line.slice(0, MAX_COMMAND).toWellFormed()} … ${line.length - 2 * MAX_COMMAND} characters … ${line.slice(-MAX_COMMAND).toWellFormed()}`
}

const MAX_COMMAND = 1_000
