import { readFile, readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Texts by path, seen from the folder they are for. */
export type Files = ReadonlyMap<string, string>

/** A template is a package that works where it lies; in the copy each of these words is another. */
export type Words = Readonly<Record<string, string>>

/** A template of this package, with its words replaced. npm leaves out a file that is called .gitignore, so here it has no dot. */
export async function readTemplate(name: string, words: Words): Promise<Files> {
  const folder = fileURLToPath(new URL(`../../templates/${name}/`, import.meta.url))
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name))).sort()
  // In one pass, so that no word is replaced in what another has become.
  const pattern = new RegExp(Object.keys(words).join('|'), 'g')
  const texts = await Promise.all(paths.map((path) => readFile(join(folder, path), 'utf8')))
  return new Map(paths.map((path, index) => [path.replace(/^gitignore$/, '.gitignore'), texts[index]!.replace(pattern, (word) => words[word]!)]))
}
