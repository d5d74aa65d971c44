import { readFile } from 'node:fs/promises'
import { register } from 'node:module'
import { dirname, resolve } from 'node:path'

/** `import … from './a.js'`, `export … from`, `import('./a.js')`, `require('./a.cjs')`: what stands in the text, and no more. */
const RELATIVE = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(["'])(\.{1,2}\/[^"'\n]+)\1/g

/** The texts of a module and of the files beside it that it imports, and so on, by path. A file that is not there has none. */
export async function filesOf(path: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>()
  const waiting = [path]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (files.has(next)) continue
    const text = await readFile(next, 'utf8').catch(() => '')
    files.set(next, text)
    for (const [, , specifier] of text.matchAll(RELATIVE)) waiting.push(resolve(dirname(next), specifier!.replace(/[?#].*/, '')))
  }
  return files
}

/** The URL parameter that distinguishes imports of one file. */
const VERSION = 'loader-version'

/** A loader hook, in Node's hooks thread: relative imports of a versioned module get the same version. */
const HOOK = `export async function resolve(specifier, context, next) {
  const found = await next(specifier, context)
  const version = context.parentURL && URL.canParse(context.parentURL) ? new URL(context.parentURL).searchParams.get('${VERSION}') : null
  if (version === null || !/^\\.{1,2}\\//.test(specifier) || !found.url.startsWith('file:')) return found
  const url = new URL(found.url)
  url.searchParams.set('${VERSION}', version)
  return { ...found, url: url.href }
}`

/** Shared by the process, as Node's module cache is. */
const seen = new Set<string>()
let version = 0

/** A URL under which Node loads a file and its imports afresh. The first is the plain file, which others may import too. */
export function nextVersion(url: string): string {
  if (!seen.has(url)) {
    seen.add(url)
    return url
  }
  if (version === 0) register(`data:text/javascript,${encodeURIComponent(HOOK)}`)
  version++
  const fresh = new URL(url)
  fresh.searchParams.set(VERSION, String(version))
  return fresh.href
}
