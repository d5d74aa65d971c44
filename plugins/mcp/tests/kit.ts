import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BriefingService } from '@headrace/briefing'
import { textOf } from '@headrace/message'
import * as mcp from '@headrace/plugin-mcp'
import type { Context, Plugin } from 'cordis'
import { type Harness, type HarnessOptions, type Script, harness } from '@headrace/testing'

/** What `fixtures/server.mjs` is told to do. */
export type ServerState = Readonly<Record<string, unknown>>

export const SERVER: string = fileURLToPath(new URL('fixtures/server.mjs', import.meta.url))

/** Folders on a real disk: a workspace, and one for each server. */
export class World {
  readonly base: string = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-')))
  readonly project: string = join(this.base, 'project')

  constructor() {
    mkdirSync(this.project)
  }

  /** A server of ours: what it does, and its entry of `mcpServers`. */
  server(name = 'own', state: ServerState = {}): { readonly command: string; readonly args: string[] } {
    mkdirSync(join(this.base, name), { recursive: true })
    this.set(state, name)
    return { command: process.execPath, args: [SERVER, join(this.base, name)] }
  }

  /** What a server does from now on. */
  set(state: ServerState, name = 'own'): void {
    writeFileSync(join(this.base, name, 'state.json'), JSON.stringify(state))
  }

  /** What a server got. */
  journal(name = 'own'): readonly string[] {
    const path = join(this.base, name, 'journal')
    return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : []
  }

  /** Ids of the processes that a server has had. */
  pids(name = 'own'): readonly number[] {
    return this.journal(name).filter((line) => line.startsWith('start ')).map((line) => Number(line.slice(6)))
  }

  remove(): void {
    rmSync(this.base, { recursive: true, force: true })
  }
}

/** An app with the plugin, one server of ours unless the config says otherwise, and one agent. Nothing asks. */
export async function setup(world: World, config: Partial<mcp.Config> = {}, options: HarnessOptions = {}): Promise<Harness> {
  const mcpServers = config.mcpServers ?? { own: world.server() }
  return harness({
    ...options,
    plugins: [BriefingService, [mcp, { ask: 'never', firstWait: 60_000, ...config, mcpServers }], ...(options.plugins ?? [])],
    agent: { cwd: world.project, ...options.agent },
  })
}

/** A script of one call, then an answer. */
export function calling(name: string, args: object = {}): Script {
  return [{ calls: [{ name, arguments: args }] }, 'done']
}

/** What the last call gave the model. */
export function resultOf(h: Harness): { readonly text: string; readonly error: boolean; readonly blocks: readonly string[] } {
  const message = h.requests.at(-1)!.messages.findLast(({ role }) => role === 'tool')
  const [block] = message?.role === 'tool' ? message.content : []
  const content = block?.content ?? []
  return { text: textOf({ content }), error: block?.error === true, blocks: content.map(({ type }) => type) }
}

/** Names of the tools in each request. */
export function toolsOf(h: Harness): readonly (readonly string[])[] {
  return h.requests.map(({ tools }) => (tools ?? []).map(({ name }) => name))
}

/** What stands in Cordis' log as a warning. */
export function logged(): { readonly plugin: Plugin; readonly lines: string[] } {
  const lines: string[] = []
  const apply = (ctx: Context): void => {
    ctx.logger.exporter({ levels: { default: 2 }, export: ({ type, args }: { readonly type: string; readonly args: readonly unknown[] }) => void (type === 'warn' && lines.push(String(args.at(-1)))) } as never)
  }
  return { plugin: { name: 'logged', apply }, lines }
}
