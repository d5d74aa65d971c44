import { parseDocument } from 'yaml'
import { messageOf } from '@headrace/message'

/** More aliases than this expand to is a bomb. */
const MAX_ALIASES = 20
/** The parser takes up to 0.1 ms for each indicator of a hostile text, so their number bounds its time. No honest frontmatter comes near. */
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
export function parseYaml(text: string): { readonly value: Yaml } | { readonly problem: string } {
  try {
    const document = parseDocument(text, { schema: 'failsafe', stringKeys: true, prettyErrors: false, logLevel: 'silent' })
    const [error] = document.errors
    return error ? { problem: messageOf(error) } : { value: document.toJS({ maxAliasCount: MAX_ALIASES }) as Yaml }
  } catch (error) {
    return { problem: messageOf(error) }
  }
}
