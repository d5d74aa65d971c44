import type { Fields } from './fields.ts'
import { type Yaml, parseYaml } from './yaml.ts'

/** Fields whose value is text: what stands behind the colon is it, whatever YAML would make of it. */
const TEXTS: readonly string[] = ['name', 'description', 'license', 'compatibility']
const NESTED: readonly string[] = ['metadata', 'allowed-tools']

interface Entry {
  readonly key: string
  readonly lines: string[]
}

/** Reads fields line by line, each for itself: a colon in a value is text, and an unindented line belongs to the field above it. */
export function lenientFields(text: string): Omit<Fields, 'repaired'> {
  const values = new Map<string, Yaml>()
  const unread: string[] = []
  for (const { key, lines } of entriesOf(text)) {
    const value = TEXTS.includes(key) ? textValue(lines) : NESTED.includes(key) ? nestedValue(lines) : ''
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
