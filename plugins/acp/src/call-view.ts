import { resolve } from 'node:path'
import type { ToolCallContent, ToolCallLocation, ToolCallStatus, ToolKind } from '@agentclientprotocol/sdk'
import { writtenLine } from '@headrace/consent'
import type { CallItem, CallState } from '@headrace/desk'
import type { ContentBlock, JsonObject } from '@headrace/message'
import { hunksOf } from './hunks.ts'
import { code, fenced } from './markdown.ts'
import { toClient } from './content.ts'

/** What a client is shown of a call: a pure function of its item, so that what is loaded is what was shown live. */
export interface CallView {
  readonly title: string
  readonly name: string
  readonly kind: ToolKind
  readonly status: ToolCallStatus
  readonly rawInput?: JsonObject
  readonly locations: ToolCallLocation[]
  readonly content: ToolCallContent[]
}

/** How calls are shown. */
export interface CallViewOptions {
  /** Absolute: paths of the protocol are. */
  readonly cwd: string
  /** The client shows the output of commands as a terminal's. */
  readonly terminal: boolean
}

/** What tools do, by their names: those that ship. Of others nothing is known but what they say. */
const KINDS: Readonly<Record<string, ToolKind>> = {
  read: 'read', list: 'read', skill: 'read', glob: 'search', grep: 'search', write: 'edit', edit: 'edit', bash: 'execute',
  background: 'execute', tasks: 'think', subagent: 'think',
}

/** UTF-16 units of a title at each of its ends; what is left out between them stands in the content and in the arguments. */
const TITLE = 160

const STATUS: Readonly<Record<CallState, ToolCallStatus>> = {
  // Not `in_progress` while it waits for a person: clients close their dialog then.
  'writing': 'pending', 'pending': 'pending', 'asks': 'pending', 'running': 'in_progress', 'done': 'completed', 'error': 'failed',
  'denied': 'failed', 'not-started': 'failed', 'unknown': 'failed',
}

export function callView(item: CallItem, options: CallViewOptions): CallView {
  const kind = kindOf(item.name)
  return {
    title: titleOf(item),
    name: item.name,
    kind,
    status: STATUS[item.state],
    ...(item.input && { rawInput: item.input }),
    locations: locationsOf(item, options),
    content: contentOf(item, options),
  }
}

export function kindOf(tool: string): ToolKind {
  return Object.hasOwn(KINDS, tool) ? KINDS[tool]! : 'other'
}

/** True where its output is shown in a terminal of the client. */
export function isTerminal(item: CallItem, { terminal }: CallViewOptions): boolean {
  return terminal && item.name === 'bash'
}

/** The tool and what it is about; of a command, the command. */
function titleOf({ name, input }: CallItem): string {
  const word = kindOf(name) === 'other' ? writtenLine(name) : `${name[0]!.toUpperCase()}${name.slice(1)}`
  const about = ['command', 'path', 'pattern', 'name', 'task', 'prompt', 'query', 'url'].map((key) => input?.[key])
    .find((value) => typeof value === 'string' && value !== '') as string | undefined
  if (about === undefined) return word
  return name === 'bash' ? code(bothEnds(about)) : `${word} ${code(bothEnds(about))}`
}

function bothEnds(text: string): string {
  const line = writtenLine(text)
  if (line.length <= 2 * TITLE + 40) return line
  return `${line.slice(0, TITLE).toWellFormed()} … ${line.length - 2 * TITLE} characters … ${line.slice(-TITLE).toWellFormed()}`
}

function locationsOf({ name, input, details }: CallItem, { cwd }: CallViewOptions): ToolCallLocation[] {
  const path = kindOf(name) === 'other' ? undefined : pathIn(input)
  if (path === undefined) return []
  const line = name === 'read' && Number.isSafeInteger(input?.['offset']) ? Number(input!['offset']) : diffIn(details)?.[0]?.line
  return [{ path: resolve(cwd, path), ...(line !== undefined && line > 0 && { line }) }]
}

function pathIn(fields: unknown): string | undefined {
  const { path } = (fields ?? {}) as { readonly path?: unknown }
  return typeof path === 'string' && path !== '' && !path.includes('\0') ? path : undefined
}

function contentOf(item: CallItem, options: CallViewOptions): ToolCallContent[] {
  const changes = changesOf(item, options)
  switch (item.state) {
    case 'writing':
    case 'pending':
    case 'asks': return isTerminal(item, options) ? [terminalOf(item)] : changes
    case 'running': {
      if (isTerminal(item, options)) return [terminalOf(item)]
      return item.progress ? [...changes, text(fenced(item.progress.text))] : changes
    }
    case 'done': return isTerminal(item, options) ? [terminalOf(item)] : [...changes, ...shown(item.output ?? [])]
    // What it was to change did not come to be.
    default: return [...isTerminal(item, options) && item.progress ? [terminalOf(item)] : [], ...shown(item.output ?? [])]
  }
}

function terminalOf({ id }: CallItem): ToolCallContent {
  return { type: 'terminal', terminalId: id }
}

/** What it changes: as its result says, before that (and where it does not) as its arguments do. */
function changesOf({ name, input, details }: CallItem, { cwd }: CallViewOptions): ToolCallContent[] {
  const path = name === 'edit' || name === 'write' ? pathIn(input) : undefined
  if (path === undefined) return []
  const hunks = diffIn(details)
  if (hunks) {
    const real = resolve(cwd, pathIn(details) ?? path)
    return hunks.map(({ oldText, newText }) => ({ type: 'diff', path: real, oldText, newText }))
  }
  const [before, after] = name === 'edit' ? [input!['old'], input!['new']] : [undefined, input!['content']]
  if (typeof after !== 'string') return []
  return [{ type: 'diff', path: resolve(cwd, path), newText: after, ...(typeof before === 'string' && { oldText: before }) }]
}

function diffIn(details: unknown): ReturnType<typeof hunksOf> {
  const { diff } = (details ?? {}) as { readonly diff?: unknown }
  return typeof diff === 'string' ? hunksOf(diff) : undefined
}

function shown(blocks: readonly ContentBlock[]): ToolCallContent[] {
  return blocks.map((block) => block.type === 'text' ? text(fenced(block.text)) : { type: 'content', content: toClient(block) })
}

export function text(words: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text: words } }
}
