import { type Digest, sha256 } from '@headrace/message'
import type { Lists } from './input.ts'

/** SHA-256 of the canonical JSON of the stored lists: order and placement count. */
export function contextDigest({ facts, headSections, tailSections }: Lists): Digest {
  // JSON.stringify is canonical here: well-formed strings only, no whitespace, and these keys stand sorted.
  return sha256(JSON.stringify({ facts, 'head-sections': headSections, 'tail-sections': tailSections }))
}

/** SHA-256 of the canonical JSON of `[name, body]`: a section keeps its digest wherever it is placed. */
export function sectionDigest(name: string, body: string): Digest {
  return sha256(JSON.stringify([name, body]))
}
