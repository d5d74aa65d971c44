import { lstatSync, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { InstructionsError, RunContextError } from './error.ts'
import { kindOf } from './kind.ts'
import { paragraphs, stripTrailing } from './text.ts'

/**
 * The regular files among `paths` (symlinks followed), in order: `## <basename>`, a blank line, the content without
 * trailing white space, BOM dropped, CRLF as LF. Missing paths and what is no regular file are skipped. Synchronous, so
 * that an agent's context provider, which is, can call it.
 *
 * @throws InstructionsError for a dangling symlink, an unreadable file or invalid UTF-8, naming the path
 */
export function instructionsFromFiles(paths: readonly string[]): string {
  if (!Array.isArray(paths)) throw new RunContextError('CONTEXT_LIST_INVALID', { argument: 'paths' }, `must be a list of paths, not ${kindOf(paths)}: ['AGENTS.md']`)
  const texts = paths.map((path: string) => {
    const bytes = readRegularFile(path)
    return bytes === undefined ? '' : stripTrailing(`## ${basename(path)}\n\n${decodeText(path, bytes)}`)
  })
  return paragraphs(texts.filter((text) => text !== ''))
}

function readRegularFile(path: string): Uint8Array | undefined {
  try {
    return statSync(path).isFile() ? readFileSync(path) : undefined
  } catch (cause) {
    if (!isMissing(cause)) throw new InstructionsError('INSTRUCTIONS_UNREADABLE', path, `cannot be read: ${(cause as Error).message}`, { cause })
    if (isSymlink(path)) throw new InstructionsError('INSTRUCTIONS_DANGLING', path, 'is a symlink to nothing; remove it, or make what it points to', { cause })
    return undefined
  }
}

/** ENOTDIR: a file stands where the path has a folder. */
function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}

function isSymlink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}

function decodeText(path: string, bytes: Uint8Array): string {
  try {
    // Drops one BOM.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replaceAll('\r\n', '\n')
  } catch (cause) {
    throw new InstructionsError('INSTRUCTIONS_NOT_UTF8', path, 'is not valid UTF-8; save it as UTF-8', { cause })
  }
}
