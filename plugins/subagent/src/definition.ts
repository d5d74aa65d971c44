import { basename } from 'node:path'
import { cutAfter, oneLine } from '@headrace/files'
import { type Yaml, isTooLarge, readFields, splitFrontmatter } from '@headrace/files/frontmatter'

/** An agent that a file defines. */
export interface Definition {
  readonly name: string
  /** When to use it, in one line. */
  readonly description: string
  /** Its instructions beside the task: the file's body. */
  readonly instructions: string
  /** Names of its tools, as the file has them; all where it names none. */
  readonly tools?: readonly string[]
  readonly without?: readonly string[]
  /** `provider/name`, or a short name. */
  readonly model?: string
  readonly steps?: number
  /** The file's path. */
  readonly file: string
}

/** Code points of a description that the model is told. */
const MAX_DESCRIPTION = 1_024
/** Letters and digits of any script, `-` and `_`: a name is an argument of a call, and a word of a list. */
const NAME = /^[\p{L}\p{M}\p{N}](?:[\p{L}\p{M}\p{N}_-]{0,62}[\p{L}\p{M}\p{N}])?$/u
const NAMES = { texts: ['name', 'description', 'model', 'color', 'maxTurns', 'steps'], nested: ['tools', 'disallowedTools', 'disallowed-tools'] }

/** Reads a file of an agent. Returns what is wrong, in a sentence, where it cannot be used. */
export function readDefinition(text: string, file: string): Definition | { readonly problem: string } {
  const parts = splitFrontmatter(text)
  if (typeof parts === 'string') return { problem: `it has no frontmatter (${parts}); put name and description between two lines of ---` }
  if (isTooLarge(parts.yaml)) return { problem: 'its frontmatter is too large to be read' }
  const fields = readFields(parts.yaml, NAMES)
  if ('problem' in fields) return { problem: `its frontmatter cannot be read: ${oneLine(cutAfter(fields.problem, 200))}` }
  const text_ = (key: string): string | undefined => {
    const value = fields.values.get(key)
    return typeof value === 'string' && value.trim() !== '' ? oneLine(value) : undefined
  }
  const name = (text_('name') ?? basename(file).replace(/\.md$/i, '')).normalize('NFC')
  const description = text_('description')
  if (!NAME.test(name)) return { problem: 'its name is not 1 to 64 letters, digits, "-" and "_"' }
  if (description === undefined) return { problem: 'it has no description; say when it is to be used' }
  const tools = namesIn(fields.values.get('tools'))
  const without = namesIn(fields.values.get('disallowedTools') ?? fields.values.get('disallowed-tools'))
  const model = text_('model')
  const steps = Number(text_('steps') ?? text_('maxTurns'))
  return {
    name,
    description: cut(description),
    instructions: parts.body.trim(),
    file,
    ...(tools && { tools }),
    ...(without && { without }),
    ...(model !== undefined && model !== 'inherit' && { model }),
    ...(Number.isSafeInteger(steps) && steps > 0 && { steps }),
  }
}

function cut(text: string): string {
  const characters = [...text]
  return characters.length <= MAX_DESCRIPTION ? text : `${characters.slice(0, MAX_DESCRIPTION - 1).join('')}…`
}

/** Separated by commas or spaces, or a list; of `Bash(git log:*)` the name. `undefined` where there are none, or all (`*`). */
function namesIn(value: Yaml | undefined): readonly string[] | undefined {
  const list = typeof value === 'string' ? value.match(/[^\s,(]+(?:\([^)]*\))?/g) ?? [] : Array.isArray(value) ? value : []
  const names = list.filter((item): item is string => typeof item === 'string').map((item) => item.replace(/\(.*$/s, '').trim())
  return names.length === 0 || names.includes('*') ? undefined : names
}
