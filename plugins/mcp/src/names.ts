import { sha256 } from '@headrace/message'

/** Longest name of a tool that all providers accept. */
const MAX = 64
const MAX_SERVER = 24

/**
 * Names of servers as they stand in the names of tools, by configured name: letters, digits, `-` and single `_`. Where
 * an altered name equals another, it gets a suffix; which one does not depend on their order.
 */
export function serverNames(names: readonly string[]): ReadonlyMap<string, string> {
  const plain = names.map((name) => plainServer(name))
  return new Map(names.map((name, index) => {
    const safe = plain[index]!
    const taken = plain.some((other, at) => at !== index && other === safe)
    return [name, safe === name || !taken ? safe : marked(safe, name, MAX_SERVER)]
  }))
}

/** Without `__`, so that the first one in a tool's name ends the server's. */
function plainServer(name: string): string {
  const plain = safe(name).replace(/_+/g, '_').replace(/^_|_$/g, '')
  if (plain === '') return marked('server', name, MAX_SERVER)
  return plain.length <= MAX_SERVER ? plain : marked(plain, name, MAX_SERVER)
}

/**
 * Names of a server's tools as a model has them, `server__tool`, in the order of the tools: at most 64 letters, digits,
 * `_` and `-`. An altered name that equals another, and one that is too long, ends with a digest of the server's own
 * name for the tool.
 */
export function toolNames(server: string, tools: readonly string[]): readonly string[] {
  const room = MAX - server.length - 2
  const plain = tools.map((tool) => safe(tool) || 'tool')
  const times = new Map<string, number>()
  for (const name of plain) times.set(name, (times.get(name) ?? 0) + 1)
  return tools.map((tool, index) => {
    const name = plain[index]!
    const clashes = name !== tool && times.get(name)! > 1
    return `${server}__${name.length > room || clashes ? marked(name, tool, room) : name}`
  })
}

/** The server's part of a tool's name. */
export function serverPart(tool: string): string | undefined {
  const at = tool.indexOf('__')
  return at < 1 ? undefined : tool.slice(0, at)
}

function safe(name: string): string {
  return name.normalize('NFKD').replace(/\p{M}/gu, '').replace(/[^a-zA-Z0-9_-]+/g, '_')
}

function marked(name: string, of: string, max: number): string {
  const mark = sha256(of.toWellFormed()).slice(0, 8)
  return `${name.slice(0, max - mark.length - 1).replace(/_+$/, '')}_${mark}`
}
