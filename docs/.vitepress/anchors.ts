import { readFileSync, readdirSync } from 'node:fs'
import { posix } from 'node:path'

/** As code hosts do it, so that one link serves both. */
export const slugify = (heading: string): string => heading.trim().toLowerCase().replaceAll(/[^\p{L}\p{N}\-_ ]/gu, '').replaceAll(' ', '-')

/** VitePress looks at pages; this looks at the places on them. @throws Error that names each link to a heading that is not there */
export function checkAnchors(folder: string): void {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'))
  const pages = new Map(files.map((file) => [`/${file.replace(/\.html$/, '')}`, readFileSync(`${folder}/${file}`, 'utf8')]))
  const ids = new Map([...pages].map(([page, html]) => [page, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!))]))
  const dead = [...pages].flatMap(([page, html]) => [...html.matchAll(/<a [^>]*href="([^"#]*)#([^"]+)"/g)].flatMap(([, path, id]) => {
    if (/^[a-z]+:/.test(path!)) return []
    const target = path === '' ? page : posix.resolve(posix.dirname(page), path!).replace(/\.html$/, '')
    const found = ids.get(target) ?? ids.get(posix.join(target, 'index'))
    return found?.has(decodeURIComponent(id!)) ? [] : [`${page} links to ${target}#${id}`]
  }))
  if (dead.length > 0) throw new Error(`${dead.length} dead anchors:\n${[...new Set(dead)].join('\n')}`)
}
