import { setMaxListeners } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ToolOutput, ToolRun } from '@headrace/agent'
import { Config, createTools } from '@headrace/plugin-workspace-tools'
import type { ToolName, WorkspaceTool } from '@headrace/plugin-workspace-tools'
import { afterEach } from 'vitest'
import { removeFolder } from '@headrace/testing/folder'

const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) removeFolder(folder)
})

/** An empty folder that goes after the test; its path has no links in it. */
export function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'headrace-tools-')))
  folders.push(path)
  return path
}

export function put(root: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content)
  }
}

export interface Bench {
  readonly cwd: string
  readonly outside: string
  readonly controller: AbortController
  readonly unloaded: AbortController
  readonly run: ToolRun
  tool(name: ToolName): WorkspaceTool<Record<string, unknown>>
  call(name: ToolName, input: Record<string, unknown>): Promise<ToolOutput>
  /** The text of a call that must not be an error. */
  text(name: ToolName, input: Record<string, unknown>): Promise<string>
  /** The message of a call that must be refused. */
  refusal(name: ToolName, input: Record<string, unknown>): Promise<string>
}

/** A workspace beside a folder that is outside of it, and the tools on it. */
export function bench(config: Partial<Config> = {}): Bench {
  const root = folder()
  const [cwd, outside] = [join(root, 'work'), join(root, 'outside')]
  mkdirSync(cwd)
  mkdirSync(outside)
  const controller = new AbortController()
  setMaxListeners(0, controller.signal) // A turn's signal has one for each of its calls.
  const unloaded = new AbortController()
  const tools = createTools(new Config(config), unloaded.signal) as unknown as WorkspaceTool<Record<string, unknown>>[]
  const run = { agent: { cwd, putImage: async (bytes: Uint8Array, mediaType: string) => ({ type: 'image', digest: String(bytes.length), mediaType }) }, signal: controller.signal } as unknown as ToolRun
  const tool = (name: ToolName) => {
    const found = tools.find((one) => one.name === name)
    if (found === undefined) throw new Error(`no tool ${name}`)
    return found
  }
  const call = async (name: ToolName, input: Record<string, unknown>) => (await tool(name).execute(input, run)) as ToolOutput
  return {
    ...{ cwd, outside, controller, unloaded, run, tool, call },
    async text(name, input) {
      const output = await call(name, input)
      if (typeof output !== 'string') throw new Error(`not a text: ${JSON.stringify(output)}`)
      return output
    },
    async refusal(name, input) {
      const output = await call(name, input).then((value) => ({ value }), (error: unknown) => ({ error }))
      if (!('error' in output)) throw new Error(`not refused: ${JSON.stringify(output.value)}`)
      return (output.error as Error).message
    },
  }
}
