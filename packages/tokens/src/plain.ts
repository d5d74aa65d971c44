import { type Block, type Message, isOurs } from '@headrace/message'
import type { Countable, RequestCount, TokenCounter, Weights } from './counter.ts'
import { isSame, toolScale } from './weight.ts'

/** Tokens that providers spend on a message's role and borders. */
export const MESSAGE_OVERHEAD = 4
/** Tokens that providers spend on the frame of a call or a result. */
export const CALL_OVERHEAD = 8

/** Tokens of an image. Its size is not in the message, so this is what the dearest common provider asks for a large one. */
export const IMAGE_TOKENS = 1_600
/** Tokens of a file, whose size is not in the message either: a document of a few pages, each of which goes as text and as an image. */
export const FILE_TOKENS = 10_000

/** A counter built from a text counter: everything else is sums, cached for frozen values. */
export function plainCounter(name: string, countText: (text: string) => number): TokenCounter {
  const known = new WeakMap<Message, number>()
  const weighTools = toolScale(countText)
  let system = { text: '', tokens: 0 }

  function countBlock(block: Block): number {
    switch (block.type) {
      case 'text':
      case 'reasoning': return countText(block.text)
      case 'tool-call': return CALL_OVERHEAD + countText(block.name) + countText(block.arguments)
      case 'tool-result': return CALL_OVERHEAD + countBlocks(block.content)
      case 'image': return IMAGE_TOKENS
      case 'file': return FILE_TOKENS
    }
  }

  function countBlocks(blocks: readonly Block[]): number {
    return blocks.reduce((sum, block) => sum + countBlock(block), 0)
  }

  function countMessage(message: Message): number {
    const tokens = known.get(message) ?? MESSAGE_OVERHEAD + countBlocks(message.content)
    if (isOurs(message)) known.set(message, tokens)
    return tokens
  }

  function countSystem(text: string | undefined): number {
    if (!text) return 0
    if (text !== system.text) system = { text, tokens: MESSAGE_OVERHEAD + countText(text) }
    return system.tokens
  }

  function countRequest(request: Countable, weights: Weights = {}): RequestCount {
    const { messages, segments: { prefix, before, history, after } } = request
    const [historyAt, afterAt, end] = [prefix + before, prefix + before + history, prefix + before + history + after]
    const { head, tail, tokens = 0 } = weights.context ?? {}
    const beforeAt = prefix + (before > 0 && isSame(messages[prefix], head) ? 1 : 0)
    const tailAt = end - (after > 0 && isSame(messages[end - 1], tail) ? 1 : 0)
    return sumUp({
      system: countSystem(request.system),
      tools: weights.tools ?? weighTools(request.tools),
      prefix: countRange(messages, 0, prefix),
      before: countRange(messages, beforeAt, historyAt),
      history: countRange(messages, historyAt, afterAt),
      after: countRange(messages, afterAt, tailAt),
      context: tokens,
      correction: 0,
    })
  }

  function countRange(messages: readonly Message[], from: number, to: number): number {
    let sum = 0
    for (let index = from; index < to; index++) sum += countMessage(messages[index] as Message)
    return sum
  }

  return {
    name,
    countText,
    countMessages: (messages) => countRange(messages, 0, messages.length),
    countRequest,
    recordUsage: () => {},
    invalidate: () => {},
  }
}

/** Adds the total, which is never negative: the correction is limited accordingly. */
export function sumUp(terms: Omit<RequestCount, 'total'>): RequestCount {
  const estimate = terms.system + terms.tools + terms.prefix + terms.before + terms.history + terms.after + terms.context
  const correction = Math.max(terms.correction, -estimate)
  return Object.freeze({ ...terms, correction, total: estimate + correction })
}
