import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

/** A change of one line of source that breaks a law. `file` is from the root of the workspace; `find` stands in it exactly once. */
interface Mutant {
  readonly law: string
  readonly file: string
  readonly find: string
  readonly replace: string
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Changes a source as vitest loads it; no file is touched. See `npm run mutants`. */
export function mutation(index: number): Plugin {
  const mutants = JSON.parse(readFileSync(new URL('mutants.json', import.meta.url), 'utf8')) as readonly Mutant[]
  const mutant = mutants[index]
  if (!mutant) throw new Error(`there is no mutant ${index}`)
  const { file, find, replace } = mutant
  return {
    name: 'headrace:mutation',
    enforce: 'pre',
    transform(code, id) {
      if (id.split('?')[0] !== root + file) return undefined
      if (code.split(find).length !== 2) throw new Error(`${JSON.stringify(find)} does not stand in ${file} exactly once`)
      return { code: code.replace(find, () => replace), map: null }
    },
  }
}
