import { type Digest, copyJson } from '@headrace/message'
import { sectionDigest } from './digest.ts'
import type { Lists, Pair } from './input.ts'

/** In front of the conversation, or behind it. */
export type Where = 'head' | 'tail'

/** A section with its body as it is rendered; a blank one has the body `''`, and is in no message. */
export interface Section {
  readonly name: string
  readonly where: Where
  readonly digest: Digest
  readonly rendered: string
}

/** Head first, then tail. */
export function toSections({ headSections, tailSections }: Lists): readonly Section[] {
  return copyJson([...place('head', headSections), ...place('tail', tailSections)])
}

function place(where: Where, pairs: readonly Pair[]): Section[] {
  return pairs.map(([name, rendered]) => ({ name, where, digest: sectionDigest(name, rendered), rendered }))
}
