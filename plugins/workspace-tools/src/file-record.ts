import { createHash } from 'node:crypto'
import { relative, sep } from 'node:path'
import type { ToolJson } from '@headrace/agent'
import { isInside } from '@headrace/files'
import { createTwoFilesPatch } from 'diff'
import type { FileDetails } from './file-details.ts'
import type { Place, Workspace } from './workspace.ts'

/** The path of a file in a record. */
export function recordPath({ cwd }: Workspace, { real }: Pick<Place, 'real'>): string {
  const path = isInside(cwd, real) ? relative(cwd, real) : real
  return (sep === '/' ? path : path.replaceAll(sep, '/')).toWellFormed()
}

export function recordOf(path: string, bytes: Uint8Array, diff?: string): FileDetails {
  return { path, size: bytes.length, sha256: digestOf(bytes), ...(diff !== undefined && { diff }) }
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** The record in the details of a result, if they are one. */
export function toRecord(details: unknown): FileDetails | undefined {
  const record = details as Partial<Record<keyof FileDetails, ToolJson>> | null | undefined
  return typeof record === 'object' && record !== null && typeof record.path === 'string' ? (record as FileDetails) : undefined
}

/** Characters of a diff that are kept, and of texts that are compared. */
const [MAX_DIFF, MAX_TEXT] = [20_000, 1_000_000]
/** Texts with less in common get no line diff: comparing them takes long. */
const [MAX_EDITS, MAX_TIME] = [5_000, 200]

/** A unified diff of two texts, bounded; nothing where they are too large, or too far apart, to be compared. */
export function diffOf(path: string, before: string, after: string): string | undefined {
  if (before.length + after.length > MAX_TEXT) return undefined
  const bounds = { context: 3, maxEditLength: MAX_EDITS, timeout: MAX_TIME }
  const patch = createTwoFilesPatch(path, path, before, after, undefined, undefined, bounds)
  if (patch === undefined) return undefined
  // Its first line is a separator without information.
  const text = patch.slice(patch.indexOf('--- '))
  return (text.length <= MAX_DIFF ? text : `${text.slice(0, MAX_DIFF)}\n[… ${text.length - MAX_DIFF} characters left out]\n`).toWellFormed()
}
