import { RunContextError } from './error.ts'
import { readText } from './input.ts'
import { kindOf } from './kind.ts'
import { paragraphs } from './text.ts'

type Text = string | null | undefined

/**
 * A system prompt: the identity and the sections that are not blank, without trailing white space, joined by blank lines.
 *
 * @throws RunContextError for what is not text
 */
export function assemble(identity: Text, sections: readonly Text[] = []): string {
  if (!Array.isArray(sections)) throw new RunContextError('CONTEXT_LIST_INVALID', { argument: 'sections' }, `must be a list of texts, not ${kindOf(sections)}`)
  const texts = [
    readText({ argument: 'identity' }, identity),
    ...sections.map((section: unknown, index) => readText({ argument: 'sections', index }, section)),
  ]
  return paragraphs(texts.filter((text) => text !== undefined && text !== '') as string[])
}
