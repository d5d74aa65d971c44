import type { RequestData } from '@headrace/session'

/** What a request has in common with the one before it: the beginning, which a provider's cache can give. */
export interface Cached {
  /** Name of the request before. */
  readonly against?: string
  /** Bytes of the common beginning, of tools, system and messages. */
  readonly bytes: number
  readonly of: number
  /** Where they part: `tools`, `system`, `message 7`, counted from 1; absent where nothing is new. */
  readonly newFrom?: string
  /** Another provider or model: its cache has nothing of this. */
  readonly otherModel?: true
}

/** The common beginning of two requests, in the order in which providers read them: tools, system, messages. */
export function cachedPart(before: RequestData, request: RequestData): Cached {
  const [from, to] = [piecesOf(before), piecesOf(request)]
  const of = to.reduce((sum, [, bytes]) => sum + bytes.length, 0)
  const otherModel = before.config.model !== request.config.model
  let bytes = 0
  let newFrom: string | undefined
  for (const [index, [name, piece]] of to.entries()) {
    const other = from[index]?.[1] ?? NOTHING
    const common = commonBytes(other, piece)
    bytes += common
    if (common === piece.length) continue
    newFrom = name
    break
  }
  return { bytes, of, ...(newFrom !== undefined && { newFrom }), ...(otherModel && { otherModel: true as const }) }
}

const NOTHING = Buffer.alloc(0)

function piecesOf({ tools, system, messages }: RequestData): readonly (readonly [name: string, bytes: Buffer])[] {
  return [
    ['tools', Buffer.from(tools ? JSON.stringify(tools) : '')],
    ['system', Buffer.from(system === undefined ? '' : JSON.stringify(system))],
    ...messages.map((message, index) => [`message ${index + 1}`, Buffer.from(JSON.stringify(message))] as const),
  ]
}

function commonBytes(a: Buffer, b: Buffer): number {
  const most = Math.min(a.length, b.length)
  let length = 0
  while (length < most && a[length] === b[length]) length++
  return length
}
