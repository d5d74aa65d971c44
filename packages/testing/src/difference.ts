import { type Request, textOf } from '@headrace/message'

/** Where the requests of two runs first differ, in words; `undefined` where every byte is equal. */
export function differenceOf(one: readonly Request[], other: readonly Request[]): string | undefined {
  for (const [index, request] of one.entries()) {
    const against = other[index]
    const found = against ? inRequest(request, against) : 'it is in one of them only'
    if (found !== undefined) return `request ${index}: ${found}`
  }
  return other.length > one.length ? `request ${one.length}: it is in one of them only` : undefined
}

function inRequest(one: Request, other: Request): string | undefined {
  if (one.system !== other.system) return `the system prompt is ${quote(one.system)} and ${quote(other.system)}`
  if (!equal(one.tools, other.tools)) return 'the tools differ'
  const length = Math.max(one.messages.length, other.messages.length)
  for (let position = 0; position < length; position++) {
    if (!equal([one.messages[position], one.owners[position]], [other.messages[position], other.owners[position]])) return `message ${position} is ${told(one, position)} and ${told(other, position)}`
  }
  return equal(bare(one), bare(other)) ? undefined : 'its config or its segments differ'
}

function bare({ signal: _signal, session: _session, system: _system, tools: _tools, messages: _messages, ...rest }: Request): object {
  return rest
}

function told({ messages, owners }: Request, position: number): string {
  const message = messages[position]
  return message === undefined ? 'missing' : `${quote(textOf(message) || JSON.stringify(message))} of ${owners[position] ?? '?'}`
}

function quote(text = ''): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}

function equal(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
