/** How large a part of a request is: UTF-8 bytes of its JSON, or of its text; tokens at four characters each, so roughly. */
export interface Size {
  readonly bytes: number
  readonly tokens: number
}

export function sizeOf(value: unknown): Size {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return { bytes: Buffer.byteLength(text), tokens: Math.ceil(text.length / 4) }
}
