import type { MarkdownRenderer } from 'vitepress'
import { fileOf, siteLink } from './repository.ts'

/** Links in our pages are those of the repository, so that they also work where its files are read; on the site they lead to its pages. */
export function repositoryLinks(md: MarkdownRenderer): void {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    // A title of its own is rendered without a page.
    const { relativePath } = env as { readonly relativePath?: string }
    const page = relativePath && fileOf(relativePath)
    if (!page) return
    for (const link of tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === 'link_open')) {
      link.attrSet('href', siteLink(page, link.attrGet('href')!))
    }
  })
}
