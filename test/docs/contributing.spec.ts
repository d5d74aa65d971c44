import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root, rootManifest } from '../rules/workspace.ts'

const { scripts } = rootManifest as unknown as { readonly scripts: Readonly<Record<string, string>> }

describe.each(['CONTRIBUTING.md', 'test/README.md'])('%s', (page) => {
  const text = readFileSync(`${root}${page}`, 'utf8')

  it('links to what is there', () => {
    const links = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, link]) => posix.join(posix.dirname(page), link!))
    expect(links.length).toBeGreaterThan(0)
    expect(links.filter((link) => !existsSync(`${root}${link}`))).toEqual([])
  })

  it('names scripts that there are', () => {
    const named = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!)
    expect(named.filter((name) => !(name in scripts))).toEqual([])
  })
})

it('test/README.md has a row for each folder', () => {
  const rows = [...readFileSync(`${root}test/README.md`, 'utf8').matchAll(/^\| `(\w+)\/`/gm)].map(([, name]) => name)
  const folders = readdirSync(`${root}test`, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name)
  expect(rows.toSorted()).toEqual(folders.toSorted())
})

it('CONTRIBUTING.md has a row for each step of .ci/run', () => {
  const text = readFileSync(`${root}CONTRIBUTING.md`, 'utf8')
  const steps = [...readFileSync(`${root}.ci/run`, 'utf8').matchAll(/^(?:tests|check) '([^']+)'/gm)].map(([, name]) => name!)
  expect(steps.length).toBeGreaterThan(8)
  expect(steps.filter((step) => !text.includes(`| ${step} |`) && !text.includes(`| \`${step}\` |`))).toEqual([])
})
