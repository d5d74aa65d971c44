import type { Digest } from '@headrace/message'
import type { SessionEvent } from './event.ts'

/** Digests of the blobs that an event names, in order: of its image and file blocks, and of `blobs` in its data. */
export function blobsOf(event: SessionEvent): ReadonlySet<Digest> {
  const digests = new Set<Digest>()
  look(event.data, digests)
  const { blobs } = event.data as { readonly blobs?: readonly Digest[] }
  for (const digest of blobs ?? []) digests.add(digest)
  return digests
}

function look(value: unknown, digests: Set<Digest>): void {
  if (typeof value !== 'object' || value === null) return
  const { type, digest } = value as { type?: unknown; digest?: unknown }
  if ((type === 'image' || type === 'file') && typeof digest === 'string') digests.add(digest)
  for (const inner of Object.values(value)) look(inner, digests)
}
