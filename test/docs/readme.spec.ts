import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Config } from 'headrace'
import { root, rootManifest } from '../rules/workspace.ts'

const { scripts } = rootManifest as unknown as { readonly scripts: Readonly<Record<string, string>> }
const readme = readFileSync(`${root}README.md`, 'utf8')
const linksOf = (text: string): string[] => [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, link]) => posix.normalize(link!))

describe('README.md', () => {
  it('has every package, plugin, example and page of docs in "What is where"', () => {
    const [, chapter = ''] = readme.split('\n## What is where\n')
    const links = new Set(linksOf(chapter))
    const places = ['packages', 'plugins', 'examples'].flatMap((folder) => readdirSync(`${root}${folder}`).map((name) => `${folder}/${name}`))
    // The front page of the site, and the page that shows a file of the repository.
    const pages = readdirSync(`${root}docs`).filter((name) => name.endsWith('.md') && !['index.md', '[file].md'].includes(name)).map((name) => `docs/${name}`)
    const expected = [...places.filter((place) => existsSync(`${root}${place}/package.json`)), ...pages]
    expect(expected.length).toBeGreaterThan(40)
    expect(expected.filter((place) => !links.has(place))).toEqual([])
  })

  it('links to what is there', () => {
    expect(linksOf(readme).filter((link) => !/^https?:/.test(link) && !existsSync(`${root}${link}`))).toEqual([])
  })

  it('names scripts that there are, among them the one that packs, which installs and compiles everything first', () => {
    const named = [...readme.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, name]) => name!)
    expect(named).toContain('pack:all')
    expect(named.filter((name) => !(name in scripts))).toEqual([])
    expect(scripts['pack:all']).toMatch(/npm run -s setup .*npm run -s build .*node \.config\/pack\.mjs$/)
    expect(scripts.build).toBe('tsc -b')
  })
})

it('the README of packages/headrace has a row for each key of its config', () => {
  const [, chapter = ''] = readFileSync(`${root}packages/headrace/README.md`, 'utf8').split('\n| Config |')
  const [table = ''] = chapter.split('\n\n')
  const named = [...table.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`(\w+)`/g)].map(([, key]) => key))
  expect(named.toSorted()).toEqual(Object.keys(Config.dict!).toSorted())
})
