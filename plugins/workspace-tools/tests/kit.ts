import { setMaxListeners } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ToolOutput, ToolRun } from '@headrace/agent'
import { Config, createTools } from '@headrace/plugin-workspace-tools'
import type { ToolName, WorkspaceTool } from '@headrace/plugin-workspace-tools'
import { testFolder } from '@headrace/testing/folder'

/** An empty folder that goes after the test; its path has no links in it. */
export function folder(): string {
  return testFolder('headrace-tools')
}

export function put(root: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content)
  }
}

/** Whether a process lives; one that has ended and that nobody has waited for yet does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/\) [ZX]/.test(existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'latin1') : '')
  } catch {
    return false
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

/** The content of a result, whether it says more or not. */
export function contentOf(output: ToolOutput): unknown {
  return typeof output === 'object' && output !== null && 'content' in output ? output.content : output
}

function isError(output: ToolOutput): boolean {
  return typeof output === 'object' && output !== null && 'error' in output && output.error === true
}

/** A log of results, as far as the tools look into one. */
class FakeSession {
  readonly first = 0
  private readonly events: { readonly type: 'tool/result'; readonly data: { readonly details: unknown } }[] = []
  private visible: unknown[] = []

  take(name: string, output: ToolOutput): void {
    const details = typeof output === 'object' && output !== null && 'details' in output ? output.details : undefined
    this.visible.push({ seq: this.events.length, message: { role: 'tool', content: [{ type: 'tool-result', id: 'c', name, content: [] }] } })
    this.events.push({ type: 'tool/result', data: { details } })
  }

  at(seq: number): unknown {
    return this.events[seq]
  }

  entries(): readonly unknown[] {
    return this.visible
  }
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
  const session = new FakeSession()
  const run = { output: () => undefined, progress: () => undefined, agent: { cwd, session, putImage: async (bytes: Uint8Array, mediaType: string) => ({ type: 'image', digest: String(bytes.length), mediaType }) }, signal: controller.signal } as unknown as ToolRun
  const tool = (name: ToolName) => {
    const found = tools.find((one) => one.name === name)
    if (found === undefined) throw new Error(`no tool ${name}`)
    return found
  }
  const call = async (name: ToolName, input: Record<string, unknown>) => {
    const output = (await tool(name).execute(input, run)) as ToolOutput
    session.take(name, output)
    return output
  }
  return {
    ...{ cwd, outside, controller, unloaded, run, tool, call },
    async text(name, input) {
      const output = await call(name, input)
      const content = contentOf(output)
      if (typeof content !== 'string' || isError(output)) throw new Error(`not a text: ${JSON.stringify(output)}`)
      return content
    },
    async refusal(name, input) {
      const output = await call(name, input).catch((error: Error): ToolOutput => ({ content: error.message, error: true }))
      if (!isError(output)) throw new Error(`not refused: ${JSON.stringify(output)}`)
      return contentOf(output) as string
    },
  }
}
