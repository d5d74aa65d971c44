import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8')
const isFile = (file: string): boolean => existsSync(`${root}${file}`) && statSync(`${root}${file}`).isFile()

/** Places with a README: `packages/loader`. */
export const places = ['packages', 'plugins', 'examples']
  .flatMap((folder) => readdirSync(`${root}${folder}`).map((name) => `${folder}/${name}`))
  .filter((place) => isFile(`${place}/README.md`))

/** Pages that stand outside of docs/, by where they are on the site. */
const readmes = new Map([['readme', 'README.md'], ['changelog', 'CHANGELOG.md'], ['contributing', 'CONTRIBUTING.md'], ['test', 'test/README.md'], ...places.map((place): [string, string] => [place, `${place}/README.md`])])

/** What is linked to on a page: each target, as it stands there. */
const linksIn = (markdown: string): readonly string[] => [...markdown.replaceAll(/^( *)(`{3,}).*?^ *\2$/gms, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!)
const isOutside = (target: string): boolean => /^([a-z]+:|#)/.test(target)
const resolve = (page: string, target: string): string => posix.join(posix.dirname(page), target.replace(/#.*/, '')).replace(/\/$/, '')

function pageOf(file: string): string | undefined {
  if (/^docs\/[^/]+\.md$/.test(file)) return isFile(file) ? `/${file.slice(5, -3)}` : undefined
  const [found] = [...readmes].find(([site, readme]) => readme === file || site === file) ?? []
  return found && `/${found}`
}

const sourceOf = (file: string): string => `source/${file.replaceAll('.', '-')}`

/** Where a link of a page of this repository leads on the site. @throws Error for what is not in the repository */
export function siteLink(page: string, target: string): string {
  if (isOutside(target) || target.startsWith('/')) return target
  const file = resolve(page, target)
  const anchor = /#.*/.exec(target)?.[0] ?? ''
  const found = pageOf(file) ?? (isFile(file) ? `/${sourceOf(file)}` : undefined)
  if (!found) throw new Error(`${page}: the link ${target} leads to nothing`)
  return found + anchor
}

/** The file of this repository that a page of the site is made of. */
export function fileOf(page: string): string | undefined {
  const site = page.replace(/\.md$/, '')
  if (!page.includes('/') && isFile(`docs/${page}`)) return `docs/${page}`
  return readmes.get(site)
}

/** A page that is made of a file outside of docs/: a README, or source code that some page links to. */
export interface FilePage {
  readonly params: { readonly file: string }
  readonly content: string
}

export function filePages(): readonly FilePage[] {
  const pages = [...readdirSync(`${root}docs`).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`), ...readmes.values()]
  const linked = pages.flatMap((page) => linksIn(read(page)).filter((target) => !isOutside(target)).map((target) => resolve(page, target)))
  const sources = [...new Set(linked)].filter((file) => !pageOf(file) && isFile(file)).sort()
  return [
    ...[...readmes].map(([file, readme]) => ({ params: { file }, content: read(readme) })),
    ...sources.map((file) => ({ params: { file: sourceOf(file) }, content: `# ${file}\n\n\`\`\`\`\`${file.split('.').at(-1)!}\n${read(file)}\`\`\`\`\`\n` })),
  ]
}
