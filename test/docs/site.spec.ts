import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lawsPage } from '../../.config/laws.mjs'
import { checkAnchors, slugify } from '../../docs/.vitepress/anchors.ts'
import { filePages, fileOf, siteLink } from '../../docs/.vitepress/repository.ts'
import { root } from '../rules/workspace.ts'

describe('docs/laws.md', () => {
  const page = lawsPage()

  it('is what npm run docs:laws makes of the contract and the tests', () => expect(readFileSync(`${root}docs/laws.md`, 'utf8')).toBe(page))

  it('has each law of the contract, with its tests, and every test of a law', () => {
    const laws = [...new Set([...readFileSync(`${root}docs/design.md`, 'utf8').matchAll(/^- \*\*(L\d+) /gm)].map(([, id]) => id))]
    expect(laws.length).toBeGreaterThan(19)
    expect([...page.matchAll(/^## (L\d+) /gm)].map(([, id]) => id)).toEqual(laws)
    const specs = readdirSync(`${root}test/laws`).filter((file) => file.endsWith('.spec.ts'))
    expect([...page.matchAll(/\(\.\.\/test\/laws\/(.*?)\)/g)].map(([, file]) => file).sort()).toEqual(specs.sort())
    expect(page.split(/^## /m).slice(1).filter((law) => !law.includes('](../test/laws/'))).toEqual([])
  })
})

describe('a link of a page in the repository', () => {
  it.each([
    ['docs/plugins.md', 'channels.md#what-they-cost', '/channels#what-they-cost'],
    ['README.md', 'docs/plugins.md', '/plugins'],
    ['README.md', 'packages/loader', '/packages/loader'],
    ['packages/headrace/README.md', '../loader', '/packages/loader'],
    ['docs/laws.md', '../README.md', '/readme'],
    ['docs/laws.md', '../test/laws/L03-boundary.spec.ts', '/source/test/laws/L03-boundary-spec-ts'],
    ['docs/laws.md', '#l3', '#l3'],
    ['docs/laws.md', 'https://example.com/a.md', 'https://example.com/a.md'],
  ])('%s: %s leads to %s on the site', (page, target, site) => expect(siteLink(page, target)).toBe(site))

  it.each(['nowhere.md', '../packages', '../packages/nowhere', '../test/laws/L99.spec.ts'])('to %s fails the build', (target) => {
    expect(() => siteLink('docs/plugins.md', target)).toThrow(`docs/plugins.md: the link ${target} leads to nothing`)
  })

  it('leads to a page that is there', () => {
    const pages = filePages()
    expect(pages.find(({ params }) => params.file === 'source/test/laws/L03-boundary-spec-ts')?.content).toContain('describe(\'L3 ')
    expect(pages.find(({ params }) => params.file === 'packages/loader')?.content).toBe(readFileSync(`${root}packages/loader/README.md`, 'utf8'))
    expect([fileOf('plugins.md'), fileOf('packages/loader.md'), fileOf('reference/@headrace/agent.md')]).toEqual(['docs/plugins.md', 'packages/loader/README.md', undefined])
  })
})

describe('checkAnchors', () => {
  function site(files: Readonly<Record<string, string>>): string {
    const folder = mkdtempSync(join(tmpdir(), 'headrace-site-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    mkdirSync(join(folder, 'a'))
    for (const [name, html] of Object.entries(files)) writeFileSync(join(folder, name), html)
    return folder
  }

  it('passes what leads to a heading, on this page or another', () => {
    checkAnchors(site({ 'x.html': '<h2 id="one"></h2><a href="#one"></a><a href="/a/y#two"></a><a href="https://example.com/#z">', 'a/y.html': '<i id="two"></i><a class="x" href="../x#one">' }))
  })

  it('names what leads to none', () => {
    expect(() => checkAnchors(site({ 'x.html': '<a href="/a/y#two"></a><a href="#one"></a>', 'a/y.html': '' }))).toThrow('2 dead anchors:\n/x links to /a/y#two\n/x links to /x#one')
  })

  it('goes by the names that code hosts give to headings', () => {
    expect(slugify('What the facts cost in a provider’s cache')).toBe('what-the-facts-cost-in-a-providers-cache')
    expect(slugify('1. The laws')).toBe('1-the-laws')
    expect(slugify('With the user\'s words: agent/prompt-submit')).toBe('with-the-users-words-agentprompt-submit')
  })
})
