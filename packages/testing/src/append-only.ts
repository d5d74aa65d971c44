import type { Message, Request } from '@headrace/message'

/** Two requests where the later one does not extend the earlier one, though nothing allows it not to. */
export class NotAppendOnlyError extends Error {
  readonly code = 'NOT_APPEND_ONLY'
}

/**
 * Checks append-extension (L12): between two requests with equal system, tools, prefix and before, the later one minus its `after` starts
 * with the earlier one minus its `after`, byte for byte. Give it requests of one session with no `surface/replace` or
 * `surface/rewind` between them.
 *
 * @throws NotAppendOnlyError that names the requests and the first message that differs
 */
export function expectAppendOnly(requests: readonly Request[]): void {
  for (let index = 1; index < requests.length; index++) {
    const [earlier, later] = [requests[index - 1]!, requests[index]!]
    if (framing(earlier) !== framing(later)) continue
    const [old, now] = [lines(earlier), lines(later)]
    const differs = old.findIndex((line, position) => now[position] !== line)
    if (differs >= 0) throw new NotAppendOnlyError(`request ${index} does not begin with request ${index - 1}: message ${differs} was ${old[differs]}, and is ${now[differs] ?? 'gone'}`)
  }
}

function framing({ system, tools, messages, segments: { prefix, before } }: Request): string {
  return JSON.stringify([system, tools, messages.slice(0, prefix + before), prefix])
}

function lines({ messages, segments }: Request): readonly string[] {
  return messages.slice(0, messages.length - segments.after).map((message: Message) => JSON.stringify(message))
}
