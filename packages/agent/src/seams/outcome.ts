import { type ContentBlock, type Json, type Keys, type OnRepair, type TextBlock, copyJson, defined, messageOf, toContent, toWellFormed } from '@headrace/message'
import type { ToolOutcome, ToolOutput } from '../contract/tool.ts'
import { isList, isPlainObject, strayKey } from './guards.ts'
import { MAX_PARTS, type PutBlob, isMcpPart, isMcpResult, toBlocks } from './mcp-content.ts'
import { toToolJson } from './tool-json.ts'

/** What bounds an outcome, in UTF-16 units. */
export interface OutcomeLimits {
  /** Of its text: the middle of more is cut. */
  readonly toolOutput: number
  /** Of the JSON of its details: more is left out, and said. */
  readonly toolDetails: number
}

/** A tool's output, before its content is read. */
interface Said {
  readonly content: unknown
  readonly failed: boolean
  readonly details?: unknown
  readonly endTurn?: boolean | undefined
}

/** Converts the output of tools, and of listeners that replace it; all outputs pass through here. */
export class Outcomes {
  private readonly limits: OutcomeLimits
  private readonly putBlob: PutBlob
  private readonly keys: Keys

  constructor(limits: OutcomeLimits, putBlob: PutBlob, keys: Keys) {
    this.limits = limits
    this.keys = keys
    this.putBlob = putBlob
  }

  /**
   * What a tool gave back in its one representation: well-formed, and bounded with a visible note. At once, but where bytes are to be kept.
   *
   * @throws TypeError, MessageError for what can be no result, with the way out
   */
  read(output: ToolOutput, at: string, onRepair?: OnRepair): ToolOutcome | Promise<ToolOutcome> {
    if (isOutcome(output)) return output
    const said = saidBy(output)
    const parts = mcpParts(said.content)
    if (!parts) return this.outcome(said, readContent(said.content, at, onRepair), at, onRepair)
    const blocks = toBlocks(parts.slice(0, MAX_PARTS), this.putBlob, at, onRepair)
    return blocks.then((content) => this.outcome(said, [...content, ...leftOut(parts)], at, onRepair))
  }

  private outcome({ failed, details, endTurn }: Said, content: readonly ContentBlock[], at: string, onRepair?: OnRepair): ToolOutcome {
    return outcomeOf(defined({
      // Ahead of the cut, which could leave a half of a key.
      content: bound(this.keys.redactJson(content), this.limits.toolOutput),
      error: failed ? true as const : undefined,
      details: details === undefined ? undefined : this.details(details, at, onRepair),
      endTurn: endTurn === true && !failed ? true as const : undefined,
    }))
  }

  private details(value: unknown, at: string, onRepair?: OnRepair): Json {
    const details = toToolJson(value, `details of ${at}`, onRepair)
    const { length } = JSON.stringify(details)
    const { toolDetails } = this.limits
    return length <= toolDetails ? details : { omitted: `The details had ${length} characters; limits.toolDetails keeps ${toolDetails}.` }
  }
}

const outcomes = new WeakSet<object>()

function isOutcome(output: unknown): output is ToolOutcome {
  return typeof output === 'object' && output !== null && outcomes.has(output)
}

function outcomeOf(outcome: ToolOutcome): ToolOutcome {
  const ours = copyJson(outcome)
  outcomes.add(ours)
  return ours
}

/** An error the model is told of. */
export function errorOutcome(text: string): ToolOutcome {
  return outcomeOf({ content: [{ type: 'text', text: text.toWellFormed() }], error: true })
}

function saidBy(output: ToolOutput): Said {
  if (!isPlainObject(output)) return { content: output, failed: false }
  if (isMcpResult(output)) {
    const { content, isError, structuredContent } = output
    const parts = isList(content) ? content : []
    const isAlone = parts.length === 0 && structuredContent !== undefined
    const details = structuredContent === undefined ? undefined : { structuredContent }
    return { content: isAlone ? structuredContent : new McpParts(parts), failed: isError === true, details }
  }
  if (!saysMore(output)) return { content: output, failed: false }
  const { content, error, details, endTurn } = output
  return { content, failed: error === true, details, endTurn: endTurn === true }
}

/** True for an outcome object; a tool's own JSON may have a `content` field too. */
function saysMore(output: Record<string, unknown>): boolean {
  const { content, error, endTurn } = output
  if (!('content' in output) || strayKey(output, 'content', 'error', 'details', 'endTurn') !== undefined) return false
  if (![error, endTurn].every((flag) => flag === undefined || typeof flag === 'boolean')) return false
  return Object.keys(output).length > 1 || typeof content === 'string' || (isList(content) && (content.length === 0 || isContent(content)))
}

/** Marks the parts of a result that is known to be MCP's. */
class McpParts {
  readonly parts: readonly unknown[]

  constructor(parts: readonly unknown[]) {
    this.parts = parts
  }
}

function mcpParts(content: unknown): readonly unknown[] | undefined {
  if (content instanceof McpParts) return content.parts
  return isList(content) && content.some(isMcpPart) && content.every((part) => isMcpPart(part) || isBlock(part)) ? content : undefined
}

function readContent(value: unknown, at: string, onRepair?: OnRepair): readonly ContentBlock[] {
  if (value === undefined) return []
  if (typeof value === 'string') return toContent(value, at, onRepair)
  if (isList(value) && isContent(value)) return [...toContent(value.slice(0, MAX_PARTS), at, onRepair), ...leftOut(value)]
  try {
    return toContent(toWellFormed(JSON.stringify(toToolJson(value, at, onRepair), null, 1), at, onRepair), at)
  } catch (error) {
    throw new TypeError(`The tool gave back what is not JSON: ${messageOf(error)}`, { cause: error })
  }
}

function isContent(value: readonly unknown[]): boolean {
  return value.some(isBlock) && value.every((block) => isBlock(block) || typeof block === 'string')
}

function isBlock(block: unknown): boolean {
  return isPlainObject(block) && CONTENT_TYPES.has(block.type)
}

const CONTENT_TYPES: ReadonlySet<unknown> = new Set<ContentBlock['type']>(['text', 'image', 'file'])

function leftOut(parts: readonly unknown[]): ContentBlock[] {
  return parts.length <= MAX_PARTS ? [] : [{ type: 'text', text: `[… ${parts.length - MAX_PARTS} parts left out …]` }]
}

function bound(content: readonly ContentBlock[], limit: number): readonly ContentBlock[] {
  let left = limit
  return content.map((block) => {
    if (block.type !== 'text') return block
    const text = cutMiddle(block.text, Math.max(0, left))
    left -= text.length
    return text === block.text ? block : ({ type: 'text', text } satisfies TextBlock)
  })
}

/** Keeps the first and the last half of a text that is too long, and says how much is missing. Cuts between characters. */
export function cutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text
  const half = Math.floor(limit / 2)
  const head = text.slice(0, half)
  const tail = half === 0 ? '' : text.slice(-half)
  const clean = (head.isWellFormed() ? head : head.slice(0, -1)) + `\n[… ${text.length - 2 * half} characters left out …]\n` + (tail.isWellFormed() ? tail : tail.slice(1))
  return clean.toWellFormed()
}
