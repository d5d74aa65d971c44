import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './workspace.ts'

interface Mutant {
  readonly law: string
  readonly file: string
  readonly find: string
  readonly replace: string
}

const mutants = JSON.parse(readFileSync(join(root, 'test/laws/mutants.json'), 'utf8')) as readonly Mutant[]

it.each(mutants.map((mutant) => [`${mutant.law} ${mutant.file}: ${mutant.find.slice(0, 60)}`, mutant] as const))('the line that a mutant breaks stands once: %s', (_, { file, find, replace }) => {
  expect(readFileSync(join(root, file), 'utf8').split(find)).toHaveLength(2)
  expect(replace).not.toBe(find)
})
