/** The house of docs: ground floor first. Plugins stand above briefing, and nothing but the top floor imports them. */
export const floors = ['message', 'files', 'consent', 'config', 'cordis', 'loader', 'session', 'run-context', 'tokens', 'agent', 'briefing', 'desk', 'wire', 'plugins', 'model-server', 'testing', 'headrace'] as const

type Floor = (typeof floors)[number]

/** The floor of a package of ours by its name; nothing for others'. */
export function floorOf(name: string): Floor | undefined {
  if (name.startsWith('@headrace/plugin-')) return 'plugins'
  return name === 'headrace' ? name : floors.find((floor) => floor !== 'plugins' && name === `@headrace/${floor}`)
}

/** What is wrong with one package's sources importing another; nothing if all is well. */
export function wrongImport(from: string, to: string): string | undefined {
  const [above, below] = [floorOf(from), floorOf(to)]
  if (!below || from === to) return undefined
  if (!above) return `${from} is no room of the house`
  if (below === 'plugins' && above === 'plugins') return `${from} imports the plugin ${to}: they meet through services and events`
  if (below === 'plugins' && above !== 'headrace') return `${from} imports the plugin ${to}`
  return floors.indexOf(below) < floors.indexOf(above) ? undefined : `${from} imports ${to}, which is not below it`
}
