import { readFile, readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Texts by path, seen from the folder they are for. */
export type Files = ReadonlyMap<string, string>

/** A template is a package that works where it lies; in the copy each of these words is another. */
export type Words = Readonly<Record<string, string>>

/** What has another name here: npm leaves out a .gitignore, and a manifest inside of a package misleads bundlers. */
const NAMES: Readonly<Record<string, string>> = { 'gitignore': '.gitignore', 'manifest.json': 'package.json' }

/** A template of this package, with its words replaced. */
export async function readTemplate(name: string, words: Words): Promise<Files> {
  const folder = fileURLToPath(new URL(`../../templates/${name}/`, import.meta.url))
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name))).sort()
  // In one pass, so that no word is replaced in what another has become.
  const pattern = new RegExp(Object.keys(words).join('|'), 'g')
  const texts = await Promise.all(paths.map((path) => readFile(join(folder, path), 'utf8')))
  return new Map(paths.map((path, index) => [NAMES[path] ?? path, texts[index]!.replace(pattern, (word) => words[word]!)]))
}
