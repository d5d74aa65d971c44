import { readFile } from 'node:fs/promises'

/** Meanings by term, in the order of the file. */
export type Glossary = ReadonlyMap<string, string>

/** Reads lines `term: meaning`; other lines are left out. */
export function parseGlossary(text: string): Glossary {
  const entries = text.split('\n').flatMap((line) => {
    const [, term, meaning] = /^\s*(?:[-*]\s+)?([^:]*\S)\s*:\s*(\S.*)$/.exec(line) ?? []
    return term === undefined || meaning === undefined ? [] : [[term, meaning.trim()] as const]
  })
  return new Map(entries)
}

/** An empty glossary where there is no file. */
export async function readGlossary(path: string): Promise<Glossary> {
  try {
    return parseGlossary(await readFile(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map()
    throw error
  }
}
