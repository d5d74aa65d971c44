import type { JsonObject } from '@headrace/message'
import { type Excerpt, type ExcerptSize, excerptOf } from './excerpt.ts'
import { written, writtenLine } from './written.ts'

/** The call that a question is about. */
export interface ShownCall {
  readonly name: string
  readonly input: JsonObject
}

/** What a door shows of a question. */
export interface ShownQuestion {
  /** Beginning and end of each part. */
  readonly lines: readonly string[]
  /** All of it; the same where nothing is left out. */
  readonly whole: readonly string[]
  readonly isCut: boolean
}

const SIZE: ExcerptSize = { lines: 20, width: 400 }
const WHOLE: ExcerptSize = { lines: Infinity, width: Infinity }

/**
 * What is asked, as lines of a door: the call's arguments, then the question. Nothing of it drives a terminal, is unseen, or is out of
 * reach: where a part is cut its end is shown, and `whole` has the rest.
 */
export function shownQuestion(question: string, call?: ShownCall, size: ExcerptSize = SIZE): ShownQuestion {
  const brief = partsOf(question, call, size)
  if (!brief.isCut) return { ...brief, whole: brief.lines }
  return { ...brief, whole: partsOf(question, call, WHOLE).lines }
}

function partsOf(question: string, call: ShownCall | undefined, size: ExcerptSize): Excerpt {
  const asked = excerptOf(written(question), size)
  const lines: string[] = []
  let { isCut } = asked
  for (const [name, value] of Object.entries(call?.input ?? {})) {
    const text = written(typeof value === 'string' ? value : JSON.stringify(value))
    // What the question ends with in full would be said twice.
    if (text !== '' && [` ${text}`, ` ${text}?`].some((end) => written(question).endsWith(end))) continue
    const shown = excerptOf(text, size)
    isCut ||= shown.isCut
    const label = `  ${writtenLine(name).slice(0, 80)}:`
    if (shown.lines.length === 1) lines.push(`${label} ${shown.lines[0]!}`)
    else lines.push(label, ...shown.lines.map((line) => `    ${line}`))
  }
  return { lines: [...lines, ...asked.lines], isCut }
}
