import type { Digest } from '@headrace/message'
import type { SessionEvent } from './event.ts'

/** Digests of the blobs that an event names, in order. */
export function blobsOf(event: SessionEvent): ReadonlySet<Digest> {
  const digests = new Set<Digest>()
  look(event.data, digests)
  return digests
}

function look(value: unknown, digests: Set<Digest>): void {
  if (typeof value !== 'object' || value === null) return
  const { type, digest } = value as { type?: unknown; digest?: unknown }
  if (type === 'image' && typeof digest === 'string') digests.add(digest)
  for (const inner of Object.values(value)) look(inner, digests)
}
