import { parseDocument } from 'yaml'
import { messageOf } from '@headrace/message'

/** The parts of a Markdown file. Line ends are `\n`. */
export interface Frontmatter {
  /** Between the fences. */
  readonly yaml: string
  /** Behind the second fence; a `---` in it is a rule like any other. */
  readonly body: string
}

/**
 * Splits a text at its fences: lines of `---` and perhaps spaces, the first before everything but blank lines.
 * Says which fence is missing.
 */
export function splitFrontmatter(text: string): Frontmatter | 'not opened' | 'not closed' {
  const open = /^\s*?---[ \t]*\n/.exec(text)
  if (!open) return 'not opened'
  const start = open[0].length
  const fence = /^---[ \t]*$/gm
  fence.lastIndex = start
  const close = fence.exec(text)
  if (!close) return 'not closed'
  return { yaml: text.slice(start, close.index), body: text.slice(close.index + close[0].length).replace(/^\n+/, '').trimEnd() }
}

/** The fields of a frontmatter, in the order they are written. */
export interface Fields {
  readonly values: ReadonlyMap<string, Yaml>
  /** What YAML says is wrong, where the text was read as its author meant it instead. */
  readonly repaired?: string
  /** Fields that could not be read. */
  readonly unread?: readonly string[]
}

/** Fields that are read line by line where the text is not YAML; others are passed over then. */
export interface FieldNames {
  /** Their value is text: what stands behind the colon is it, whatever YAML would make of it. */
  readonly texts: readonly string[]
  /** Maps or lists. */
  readonly nested: readonly string[]
}

/** Reads a frontmatter: as YAML, and where that fails line by line. Says why where neither gives fields. */
export function readFields(text: string, names: FieldNames): Fields | { readonly problem: string } {
  const parsed = parseYaml(text)
  if ('problem' in parsed) {
    const lenient = lenientFields(text, names)
    return lenient.values.size === 0 ? parsed : { ...lenient, repaired: parsed.problem }
  }
  const { value } = parsed
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { problem: `it is ${kindOf(value)}, not fields` }
  const values = new Map(Object.entries(value))
  const sentence = [...values.keys()].find((key) => /\s/.test(key))
  if (sentence === undefined) return { values }
  // No field has a space in its name: `Use when: …` at the margin is a description that was wrapped.
  const lenient = lenientFields(text, names)
  return lenient.values.size === 0 ? { values } : { ...lenient, repaired: `${JSON.stringify(sentence)} is no name of a field` }
}

function kindOf(value: Yaml): string {
  return value === null ? 'empty' : Array.isArray(value) ? 'a list' : 'text'
}

interface Entry {
  readonly key: string
  readonly lines: string[]
}

/** Reads fields line by line, each for itself: a colon in a value is text, and an unindented line belongs to the field above it. */
function lenientFields(text: string, { texts, nested }: FieldNames): Omit<Fields, 'repaired'> {
  const values = new Map<string, Yaml>()
  const unread: string[] = []
  for (const { key, lines } of entriesOf(text)) {
    const value = texts.includes(key) ? textValue(lines) : nested.includes(key) ? nestedValue(lines) : ''
    if (value === undefined) unread.push(key)
    else if (!values.has(key)) values.set(key, value)
  }
  return { values, unread }
}

function entriesOf(text: string): readonly Entry[] {
  const entries: Entry[] = []
  for (const line of text.split('\n')) {
    const [, key, value] = /^([A-Za-z][\w-]*)[ \t]*:(?:[ \t](.*))?$/.exec(line) ?? []
    if (key !== undefined) entries.push({ key, lines: [(value ?? '').trim()] })
    else if (!line.startsWith('#')) entries.at(-1)?.lines.push(line)
  }
  return entries
}

function textValue(lines: readonly string[]): string | undefined {
  const [first = '', ...rest] = lines
  if (/^[|>][-+0-9]*(?:[ \t]+#.*)?$/.test(first)) return stringIn(`value: ${first}\n${rest.map(indented).join('\n')}`)
  const whole = lines.map((line) => line.trim()).filter((line) => line !== '').join(' ')
  const [, quote, inner] = /^(["'])(.*)\1$/s.exec(whole) ?? []
  return quote === undefined ? whole : stringIn(`value: ${whole}`) ?? inner
}

/** A map or a list of plain values, or what YAML reads. */
function nestedValue(lines: readonly string[]): Yaml | undefined {
  const [first = '', ...rest] = lines
  if (first !== '' && rest.every((line) => line.trim() === '')) return /^[[{"']/.test(first) ? valueIn(`value: ${first}`) : first
  return valueIn(`value: ${first}\n${rest.map((line) => plainQuoted(indented(line))).join('\n')}`)
}

/** `  key: a: b` with its value quoted. */
function plainQuoted(line: string): string {
  const [, start, value] = /^(\s+[\w.-]+:[ \t]+)([^\s"'[{|>&*!#].*)$/.exec(line) ?? []
  return start === undefined ? line : start + JSON.stringify(value)
}

function indented(line: string): string {
  const tabless = line.replace(/^[ \t]+/, (space) => space.replaceAll('\t', '  '))
  return tabless === '' || tabless.startsWith(' ') ? tabless : `  ${tabless}`
}

function stringIn(text: string): string | undefined {
  const value = valueIn(text)
  return typeof value === 'string' ? value : undefined
}

function valueIn(text: string): Yaml | undefined {
  const parsed = parseYaml(text)
  return 'value' in parsed && typeof parsed.value === 'object' && parsed.value !== null && 'value' in parsed.value ? parsed.value.value : undefined
}

/** More aliases than this expand to is a bomb. */
const MAX_ALIASES = 20
/**
 * The parser takes up to 0.1 ms for each indicator of a hostile text, so their number bounds its time. No honest
 * frontmatter comes near.
 */
const MAX_MARKS = 500
const MARKS = /[[\]{},?&*!#]|[:-](?=\s)|\n/g
/** UTF-16 units. */
const MAX_LENGTH = 16_000

/** A value, its scalars as they are written: `1.0` is "1.0". */
export type Yaml = string | readonly Yaml[] | { readonly [key: string]: Yaml } | null

/** True where a text is not to be parsed, for what that may cost. */
export function isTooLarge(text: string): boolean {
  return text.length > MAX_LENGTH || (text.match(MARKS)?.length ?? 0) > MAX_MARKS
}

/** Parses YAML. Says in one line what is wrong with it. */
function parseYaml(text: string): { readonly value: Yaml } | { readonly problem: string } {
  try {
    const document = parseDocument(text, { schema: 'failsafe', stringKeys: true, prettyErrors: false, logLevel: 'silent' })
    const [error] = document.errors
    return error ? { problem: messageOf(error) } : { value: document.toJS({ maxAliasCount: MAX_ALIASES }) as Yaml }
  } catch (error) {
    return { problem: messageOf(error) }
  }
}
