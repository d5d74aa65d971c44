import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Context } from 'cordis'
import { BriefingService } from '@headrace/briefing'
import { type FileReading, type FileStatus, type FileSystem, nodeFiles } from '@headrace/files'
import { textOf } from '@headrace/message'
import { removeFolder } from '@headrace/testing/folder'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { onTestFinished } from 'vitest'
import { turns } from '@headrace/testing/gate'
import { Config, settle } from '../src/config.ts'
import { inject, name, register } from '../src/index.ts'

export type Files = Readonly<Record<string, string | Uint8Array>>

/** A folder with these files that goes with the test. The root of a project, unless it has no `.git`. */
export function folder(files: Files, { git = true } = {}): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'agents-md-')))
  onTestFinished(() => removeFolder(root))
  if (git) mkdirSync(join(root, '.git'))
  write(root, files)
  return root
}

export function write(root: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}

/** The real file system, with an account of what was asked, and faults on demand. */
export class CountedFiles implements FileSystem {
  /** Calls that look: a path each. */
  looked: string[] = []
  /** Paths whose content was read. */
  read_: string[] = []
  /** Codes of errors: a read of the path fails, as it does for a user without rights. */
  readonly faults = new Map<string, string>()

  reset(): void {
    this.looked = []
    this.read_ = []
  }

  lstat(path: string): FileStatus | undefined {
    this.looked.push(path)
    return nodeFiles.lstat(path)
  }

  stat(path: string): FileStatus | undefined {
    this.looked.push(path)
    return nodeFiles.stat(path)
  }

  async realpath(path: string): Promise<string> {
    this.looked.push(path)
    return nodeFiles.realpath(path)
  }

  list: FileSystem['list'] = (path) => nodeFiles.list(path)

  async read(path: string, limit: number): Promise<FileReading> {
    this.read_.push(path)
    const code = this.faults.get(path)
    if (code !== undefined) throw Object.assign(new Error(`${code}: it is said to be so, open '${path}'`), { code })
    return nodeFiles.read(path, limit)
  }
}

export type Options = Partial<Config> & { readonly files?: FileSystem; readonly harness?: HarnessOptions }

/** The plugin and what it needs. */
export function plugins({ files = nodeFiles, ...config }: Options = {}): HarnessOptions['plugins'] & {} {
  const agentsMd = { name, inject, apply: async (ctx: Context) => register(ctx, settle(Config({ global: false, ...config })), files) }
  return [BriefingService as never, agentsMd, touching as never]
}

/** Tools that touch a path: `touch` at once, `slow` in a few turns of the event loop. */
const touching = {
  name: 'touching', inject: ['tools'],
  apply: async (ctx: Context) => {
    for (const [tool, wait] of [['touch', 0], ['slow', 10]] as const) {
      ctx.tools.define({ name: tool, description: '', parameters: { type: 'object' }, execute: () => turns(wait).then(() => 'touched') })
    }
  },
}

export async function start(cwd: string, { harness: options, ...rest }: Options = {}): Promise<Harness> {
  const h = await harness({ ...options, plugins: [...plugins(rest), ...options?.plugins ?? []], agent: { cwd, ...options?.agent } })
  onTestFinished(() => h.dispose())
  return h
}

/** Calls of one answer that touch paths. */
export const touch = (...paths: readonly string[]): { readonly calls: readonly { readonly name: string; readonly arguments: object }[] } =>
  ({ calls: paths.map((path) => ({ name: 'touch', arguments: { path } })) })

/** What the plugin told, and is visible: `key: text`. */
export function told(h: Harness): readonly string[] {
  return h.agent.session.entries().filter(({ owner }) => owner.startsWith('agents-md/')).map(({ owner, message }) => `${owner.slice('agents-md/'.length)}: ${textOf(message)}`)
}

/** Everything that was told, on one string. */
export const all = (h: Harness): string => told(h).join('\n')

/** How often a text stands in another. */
export const count = (text: string, part: string): number => text.split(part).length - 1

/** Codes of the diagnostics of the agent, each with the path from a root; what was reported of them counts as looked at. */
export function problems(h: Harness, root: string): readonly string[] {
  void h.reports
  return h.ctx.agentsMd.diagnostics(h.agent).map(({ code, path }) => `${code} ${path.replace(`${root}/`, '')}`)
}

export interface Told {
  readonly h: Harness
  readonly text: string
  readonly problems: readonly string[]
}

/** One prompt in a folder: what was told, and the diagnostics. */
export async function tell(root: string, options: Options & { readonly cwd?: string } = {}): Promise<Told> {
  const { cwd = root, ...rest } = options
  const h = await start(cwd, rest)
  await h.run('Go')
  return { h, text: all(h), get problems() { return problems(h, root) } }
}
