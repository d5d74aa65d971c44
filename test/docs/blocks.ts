import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { root } from '../rules/workspace.ts'

/** A fenced block of a page. */
export interface Block {
  /** `docs/plugins.md`. */
  readonly page: string
  /** The page, the heading above it, and which of the blocks of code below that heading it is: `docs/plugins.md#A tool`, `…#A tool 2`. */
  readonly id: string
  /** Of its first line of text, from 1. */
  readonly line: number
  /** What stands behind the fence: `ts`, `text`, or nothing. */
  readonly language: string
  readonly text: string
  /** The `text` block behind it, with nothing but prose between: what the model saw. */
  readonly seen?: string
}

export const CODE: readonly string[] = ['ts', 'js']
/** What is shown and not run. */
export const NOT_CODE: readonly string[] = ['', 'text', 'sh', 'console', 'json', 'jsonc', 'yaml', 'markdown', 'mermaid']

/** Made from docstrings, or not ours. */
const MADE = /^(reference|\.vitepress)\/|(^|\/)node_modules\//

/** Everything that people read to learn headrace. */
export function pages(): readonly string[] {
  const readmes = ['packages', 'plugins', 'examples'].flatMap((folder) => readdirSync(`${root}${folder}`).map((name) => `${folder}/${name}/README.md`))
  const docs = readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md') && !MADE.test(name)).map((name) => `docs/${name}`)
  return ['README.md', ...docs, ...readmes.filter((page) => existsSync(`${root}${page}`))]
}

/** The blocks of a page, in order. @throws Error for a fence that is not closed */
export function blocksOf(page: string, markdown: string): readonly Block[] {
  const blocks: Block[] = []
  const lines = markdown.split('\n')
  let heading = ''
  let count = 0
  for (let at = 0; at < lines.length; at++) {
    const title = /^#{1,6} (.*)$/.exec(lines[at]!)?.[1]
    if (title !== undefined) [heading, count] = [title, 0]
    const [, indent, fence, language] = /^( *)(`{3,}|~{3,})(.*)$/.exec(lines[at]!) ?? []
    if (fence === undefined || language === undefined) continue
    const first = at + 1
    while (++at < lines.length && lines[at]!.trim() !== fence);
    if (at >= lines.length) throw new Error(`${page}:${first}: this block is not closed`)
    const text = lines.slice(first, at).map((line) => line.startsWith(indent!) ? line.slice(indent!.length) : line).join('\n')
    const last = blocks.at(-1)
    if (language === 'text' && count > 0 && last && CODE.includes(last.language)) blocks[blocks.length - 1] = { ...last, seen: text }
    if (CODE.includes(language)) count++
    blocks.push({ page, id: `${page}#${heading}${count > 1 ? ` ${count}` : ''}`, line: first + 1, language, text })
  }
  return blocks
}

export function allBlocks(): readonly Block[] {
  return pages().flatMap((page) => blocksOf(page, readFileSync(`${root}${page}`, 'utf8')))
}
