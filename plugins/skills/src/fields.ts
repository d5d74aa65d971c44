import { lenientFields } from './lenient-fields.ts'
import { type Yaml, parseYaml } from './yaml.ts'

/** The fields of a frontmatter, in the order they are written. */
export interface Fields {
  readonly values: ReadonlyMap<string, Yaml>
  /** What YAML says is wrong, where the text was read as its author meant it instead. */
  readonly repaired?: string
  /** Fields that could not be read. */
  readonly unread?: readonly string[]
}

/** Reads a frontmatter: as YAML, and where that fails line by line. Says why where neither gives fields. */
export function readFields(text: string): Fields | { readonly problem: string } {
  const parsed = parseYaml(text)
  if ('problem' in parsed) {
    const lenient = lenientFields(text)
    return lenient.values.size === 0 ? parsed : { ...lenient, repaired: parsed.problem }
  }
  const { value } = parsed
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { problem: `it is ${kindOf(value)}, not fields` }
  const values = new Map(Object.entries(value))
  const sentence = [...values.keys()].find((key) => /\s/.test(key))
  if (sentence === undefined) return { values }
  // No field has a space in its name: `Use when: …` at the margin is a description that was wrapped.
  const lenient = lenientFields(text)
  return lenient.values.size === 0 ? { values } : { ...lenient, repaired: `${JSON.stringify(sentence)} is no name of a field` }
}

function kindOf(value: Yaml): string {
  return value === null ? 'empty' : Array.isArray(value) ? 'a list' : 'text'
}
