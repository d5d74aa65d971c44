import { type ContentBlock, type OnRepair, type TextBlock, copyJson, messageOf, toContent, toWellFormed } from '@headrace/message'
import { isList, isObject } from './guards.ts'
import type { ToolOutcome, ToolOutput } from '../contract/tool.ts'

/**
 * What a tool gave back, in its one representation: well-formed, and bounded with a visible note.
 *
 * @param limit UTF-16 units of text; the middle of what is longer is cut
 */
export function toOutcome(output: ToolOutput, at: string, limit: number, onRepair?: OnRepair): ToolOutcome {
  if (isOutcome(output)) return output
  const failed = isObject(output) && output.error === true && 'content' in output
  // Of a listener that changed what `next()` gave it.
  const changed = isObject(output) && Object.keys(output).join() === 'content' && isBlocks(output.content)
  const content = failed || changed ? output.content : output
  return outcomeOf(bound(readContent(content, at, onRepair), limit), failed)
}

const outcomes = new WeakSet<object>()

function isOutcome(output: ToolOutput): output is ToolOutcome {
  return typeof output === 'object' && output !== null && outcomes.has(output)
}

function outcomeOf(content: ToolOutcome['content'], failed: boolean): ToolOutcome {
  const outcome: ToolOutcome = copyJson(failed ? { content, error: true } : { content })
  outcomes.add(outcome)
  return outcome
}

/** An error the model is told of. */
export function errorOutcome(text: string): ToolOutcome {
  return outcomeOf([{ type: 'text', text: text.toWellFormed() }], true)
}

function readContent(value: unknown, at: string, onRepair?: OnRepair): ToolOutcome['content'] {
  if (value === undefined) return []
  if (typeof value === 'string') return toContent(value, at, onRepair)
  if (isBlocks(value)) return toContent(value, at, onRepair)
  try {
    return toContent(toWellFormed(JSON.stringify(copyJson(value, at), null, 1), at, onRepair), at)
  } catch (error) {
    throw new TypeError(`The tool gave back what is not JSON: ${messageOf(error)}`, { cause: error })
  }
}

function isBlocks(value: unknown): boolean {
  return isList(value) && value.length > 0 && value.every((block: unknown) => isObject(block) && CONTENT_TYPES.has(block.type))
}

const CONTENT_TYPES: ReadonlySet<unknown> = new Set<ContentBlock['type']>(['text', 'image', 'file'])

function bound(content: ToolOutcome['content'], limit: number): ToolOutcome['content'] {
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
