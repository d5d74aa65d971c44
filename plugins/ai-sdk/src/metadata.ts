import type { JsonObject } from '@headrace/message'

/** A part with the metadata that its provider wants back. */
export function withMetadata<T extends object>(part: T, metadata: JsonObject | undefined): T & { readonly providerOptions?: JsonObject } {
  return metadata === undefined ? part : { ...part, providerOptions: metadata }
}

/**
 * The metadata that a provider wants back, as plain JSON, merged provider by provider; `undefined` where there is
 * nothing.
 */
export function mergeMetadata(earlier: JsonObject | undefined, later: unknown): JsonObject | undefined {
  if (typeof later !== 'object' || later === null) return earlier
  const result: Record<string, JsonObject> = { ...earlier as Record<string, JsonObject> | undefined }
  // The log takes plain JSON only: no `undefined`, no lone surrogate.
  const plain = JSON.parse(JSON.stringify(later), (_, value: unknown) => typeof value === 'string' ? value.toWellFormed() : value) as object
  for (const [provider, fields] of Object.entries(plain) as [string, JsonObject | null][]) {
    if (fields && Object.keys(fields).length > 0) result[provider] = { ...result[provider], ...fields }
  }
  return Object.keys(result).length === 0 ? undefined : result
}
