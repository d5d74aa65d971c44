import { hash } from 'node:crypto'
import { isOurs, sameJson } from './json.ts'

/** Lower-case hex SHA-256. */
export type Digest = string

/** SHA-256 of the UTF-8 bytes of a text, or of bytes. */
export function sha256(data: string | Uint8Array): Digest {
  return hash('sha256', data, 'hex')
}

const digests = new WeakMap<object, Digest>()

/** The text asked for last: a system prompt is the same from step to step. */
let recent = { text: '', digest: sha256('""') }

function digestOfText(text: string): Digest {
  if (text !== recent.text) recent = { text, digest: sha256(JSON.stringify(text)) }
  return recent.digest
}

/** SHA-256 of a value's exact JSON, computed on first need and kept for values that are ours (nobody can change those). */
export function digestOf(value: object | string): Digest {
  if (typeof value === 'string') return digestOfText(value)
  const known = digests.get(value)
  if (known !== undefined) return known
  const digest = sha256(JSON.stringify(value))
  if (isOurs(value)) digests.set(value, digest)
  return digest
}

/** The chain of nothing: 64 zeros. */
export const EMPTY_CHAIN: Digest = '0'.repeat(64)

/** One link: `hᵢ = SHA-256(hᵢ₋₁ ‖ dᵢ)` over the two digests' hex text, 128 ASCII characters. */
export function chain(previous: Digest, digest: Digest): Digest {
  return sha256(previous + digest)
}

const chains = new WeakMap<object, Digest>()

/** The chain over a list of values, kept for lists that are ours; an absent list is the empty one (L10). */
export function chainOf(values: readonly object[] | undefined): Digest {
  if (!values) return EMPTY_CHAIN
  const known = chains.get(values)
  if (known !== undefined) return known
  let link = EMPTY_CHAIN
  for (const value of values) link = chain(link, digestOf(value))
  if (isOurs(values)) chains.set(values, link)
  return link
}

/** Equal as JSON text: by identity, then by digest where one is kept, then by text. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true
  const kept = isOurs(a) && isOurs(b) && (digests.has(a as object) || digests.has(b as object))
  return kept ? digestOf(a as object) === digestOf(b as object) : sameJson(a, b)
}
