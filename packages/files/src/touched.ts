import { join } from 'node:path'
import type { Json, JsonObject } from '@headrace/message'

/** Fields of a call's input that hold paths in the tools that people use: a string, or a list of them. */
export const PATH_FIELDS: readonly string[] = ['path', 'paths', 'file', 'files', 'file_path', 'filePath', 'cwd', 'directory']

/**
 * Paths that a call's input names: strings, or lists of them, in the given fields; and the folder that a glob in `pattern` begins with,
 * inside `path` where there is one. Commands are not looked into.
 */
export function touchedPaths(input: JsonObject, fields: ReadonlySet<string>): readonly string[] {
  const paths: string[] = []
  for (const field of Object.keys(input)) if (fields.has(field)) paths.push(...stringsOf(input[field]))
  const { pattern, path } = input
  const folder = typeof pattern === 'string' ? staticFolder(pattern) : undefined
  return folder === undefined ? paths : [...paths, typeof path === 'string' && !folder.startsWith('/') ? join(path, folder) : folder]
}

function stringsOf(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return value === '' ? [] : [value]
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string' && item !== '') : []
}

/** The folder in front of a glob's first special character; nothing where it has none, or is a name at any depth. */
function staticFolder(pattern: string): string | undefined {
  const special = pattern.search(/[*?[{]/)
  const end = pattern.lastIndexOf('/', special)
  return special < 0 || end < 1 ? undefined : pattern.slice(0, end)
}
