import type { Entry } from '@headrace/session'
import { type Message, type ToolMessage, type UserMessage, callsOf } from '@headrace/message'

/**
 * How many entries, from the first on, can be removed so that at most `keep` tokens stay, without separating a call
 * from its results.
 */
export function cutAt(entries: readonly Entry[], keep: number, weigh: (messages: readonly Message[]) => number): number {
  let kept = 0
  let cut = entries.length
  while (cut > 0 && kept + weigh([entries[cut - 1]!.message]) <= keep) kept += weigh([entries[--cut]!.message])
  // The newest message stays whatever its size: the model has to answer it.
  cut = Math.min(cut, entries.length - 1)
  while (cut > 0 && entries[cut]?.message.role === 'tool') cut--
  return Math.max(0, cut)
}

/** A tool result with the middle of its text left out, and a note that says so; `undefined` where it is short already. */
export function trimmed(message: Message, most: number): ToolMessage | undefined {
  if (message.role !== 'tool') return undefined
  const [block] = message.content
  const length = block.content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)
  if (length <= most * 1.5 && block.content.every((part) => part.type === 'text')) return undefined
  const text = block.content.map((part) => (part.type === 'text' ? part.text : '[an image]')).join('\n')
  const half = Math.floor(most / 2)
  const short = text.length <= most ? text : `${text.slice(0, half).toWellFormed()}\n[… ${text.length - 2 * half} characters of this old result were left out …]\n${text.slice(-half).toWellFormed()}`
  return { role: 'tool', content: [{ ...block, content: [{ type: 'text', text: short }] }] }
}

/**
 * The last entry before the cut after which messages can be inserted: not between a call and its results, and not after
 * an answer, which its model must get back unchanged.
 */
export function lastPlace(entries: readonly Entry[], cut: number): Entry | undefined {
  return entries.slice(0, cut).findLast(({ message }, index) => message.role !== 'assistant' && entries[index + 1]?.message.role !== 'tool')
}

/** True where a range of entries has no call whose result is outside, nor a result whose call is. */
export function isWhole(entries: readonly Entry[]): boolean {
  let open = 0
  for (const { message } of entries) {
    if (message.role === 'tool') open--
    else open += callsOf(message).length
    if (open < 0) return false
  }
  return open === 0
}

/**
 * The entries before the cut, split at the newest message of the user; all in the first part where that message is
 * after the cut.
 */
export function newestOfUser(entries: readonly Entry[], cut: number): readonly (readonly Entry[])[] {
  const newest = entries.findLastIndex(({ owner, message }) => owner === 'user' && message.role === 'user')
  if (newest < 0 || newest >= cut) return [entries.slice(0, cut)]
  return [entries.slice(0, newest), entries.slice(newest + 1, cut)]
}

/** A message with a part of its text, its beginning and its end, and how many characters are left out. */
export function cutMessage(message: Message, part: number): { readonly message: UserMessage; readonly left: number } | undefined {
  if (message.role !== 'user') return undefined
  let left = 0
  const content = message.content.map((block) => {
    if (block.type !== 'text') return block
    const half = Math.floor(block.text.length * part / 2)
    const gone = block.text.length - 2 * half
    if (gone < 200) return block
    left += gone
    const note = `[… ${gone} characters were left out here, because the message does not fit into your window …]`
    return { type: 'text' as const, text: `${block.text.slice(0, half).toWellFormed()}\n${note}\n${block.text.slice(-half).toWellFormed()}` }
  })
  return left === 0 ? undefined : { message: { role: 'user', content }, left }
}
