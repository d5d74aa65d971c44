import { existsSync, readdirSync } from 'node:fs'
import { type DefaultTheme, defineConfig } from 'vitepress'
import { checkAnchors, slugify } from './anchors.ts'
import { repositoryLinks } from './links.ts'
import { places, root } from './repository.ts'

const page = (text: string, link: string): DefaultTheme.SidebarItem => ({ text, link })
/** A page that is being written does not break the build. */
const isThere = ({ link }: DefaultTheme.SidebarItem): boolean => existsSync(`${root}docs${link}.md`)
const group = (text: string, ...items: DefaultTheme.SidebarItem[]): DefaultTheme.SidebarItem => ({ text, items })
const readmes = (folder: string): DefaultTheme.SidebarItem[] => places.filter((place) => place.startsWith(`${folder}/`)).map((place) => page(place.slice(folder.length + 1), `/${place}`))

function reference(folder: string): DefaultTheme.SidebarItem[] {
  const path = `${root}docs/reference`
  if (!existsSync(path)) return []
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md') && file !== 'index.md')
  return files.map((file) => file.slice(0, -3)).sort().map((name) => page(name, `/${folder}/${name}`))
}

export default defineConfig({
  title: 'headrace',
  description: 'LLM agents made of plugins on Cordis; every request rebuilds from the log.',
  lang: 'en',
  cleanUrls: true,
  markdown: { anchor: { slugify }, config: repositoryLinks },
  themeConfig: {
    nav: [page('Guide', '/guide'), page('Plugins', '/plugins'), page('Log', '/log-format'), page('Reference', '/reference/')] as DefaultTheme.NavItem[],
    sidebar: [
      group('Begin', page('Guide', '/guide'), page('The host API', '/hosts'), page('Over HTTP', '/http'), page('In an editor', '/editors'), page('Consent', '/approval'), page('MCP servers', '/mcp'), page('The project', '/readme'), page('Changelog', '/changelog'), page('Working on it', '/contributing')),
      group('Write a plugin', ...[page('Writing a plugin', '/plugins'), page('Which channel', '/channels'), page('Seams', '/seams')].filter(isThere)),
      group('What holds', ...[page('Laws', '/laws'), page('Log format', '/log-format'), page('Performance', '/performance'), page('Reliability', '/reliability'), page('Design', '/design')].filter(isThere)),
      { ...group('Packages', ...readmes('packages')), collapsed: true },
      { ...group('Plugins', ...readmes('plugins')), collapsed: true },
      { ...group('Examples', ...readmes('examples')), collapsed: true },
      { ...group('Reference', ...reference('reference')), collapsed: true },
    ],
    outline: [2, 3],
    search: { provider: 'local' },
  },
  buildEnd: ({ outDir }) => checkAnchors(outDir),
})
