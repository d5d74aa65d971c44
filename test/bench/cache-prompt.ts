import type { AssistantMessage, Message, Request } from '@headrace/message'
import { textOf } from '@headrace/message'
import { type Prompt, type Token, tokensOf } from '@headrace/model-server'
import type { Recording } from './cache-session.ts'

/** A piece of a request as a provider's template has it: a tool, the system prompt or a message, as a line of JSON. */
type Line = string

/** What a cache sees of each request of a recording: tools, system prompt, messages, four characters a token. */
export function promptsOf({ requests, answers, root }: Recording): readonly Prompt[] {
  return requests.map((request, index) => {
    const lines = linesOf(request, root)
    const { prefix, after } = request.segments
    const framing = lines.length - request.messages.length
    return promptOf(lines, [framing, framing + prefix, lines.length - after], answers[index], root)
  })
}

/**
 * The ideal: what a recording sent, tools, system prompt and messages, each once and at the place where it first stood,
 * and every request the one before with what is new behind it. A fact that is told again as it was told last is not
 * new.
 *
 * @param isBare facts without the words and frames around them: as little as can be told of them
 */
export function idealPrompts({ requests, answers, root }: Recording, isBare = false): readonly Prompt[] {
  const lines: Line[] = []
  const have = new Map<Line, number>()
  let framing = 0
  return requests.map((request, index) => {
    const seen = new Map<Line, number>()
    const messages = newsOf(request, isBare)
    for (const line of linesOf({ ...request, messages }, root)) {
      const times = (seen.get(line) ?? 0) + 1
      seen.set(line, times)
      if (times <= (have.get(line) ?? 0)) continue
      have.set(line, times)
      lines.push(line)
    }
    framing ||= lines.length - messages.length
    return promptOf([...lines], [framing, lines.length], answers[index], root)
  })
}

/** The messages of a request without facts that its owner told so last. */
function newsOf({ messages, owners }: Request, isBare: boolean): readonly Message[] {
  const told = new Map<string, string>()
  return messages.flatMap((message, index) => {
    const owner = owners[index]!
    const fact = bare(message, owner)
    const text = JSON.stringify(fact)
    if (owner.includes('/') && told.get(owner) === text) return []
    told.set(owner, text)
    return [isBare ? fact : message]
  })
}

function promptOf(lines: readonly Line[], breakpoints: readonly number[], answer: AssistantMessage | undefined, root: string): Prompt {
  const tokens: Token[] = []
  const blocks = lines.map((line) => {
    for (const token of tokensOf(line)) tokens.push(token)
    return tokens.length
  })
  const ends = breakpoints.flatMap((count) => (count > 0 ? [blocks[count - 1]!] : []))
  return { tokens, blocks, breakpoints: [...new Set(ends)], ...(answer && { output: tokensOf(lineOf(answer, root)) }) }
}

function linesOf({ tools = [], system, messages }: Pick<Request, 'tools' | 'system' | 'messages'>, root: string): readonly Line[] {
  return [...tools, ...(system === undefined ? [] : [{ role: 'system', content: system }]), ...messages].map((part) => lineOf(part, root))
}

/** The same on every machine. */
function lineOf(part: object, root: string): Line {
  return `${JSON.stringify(part).replaceAll(root, '/home/you/project').replaceAll(`platform: ${process.platform}`, 'platform: linux')}\n`
}

/** What a plugin told, without the words around it: the texts of files, or the lines of a list. */
function bare(message: Message, owner: string): Message {
  if (!owner.includes('/') || message.role !== 'system') return message
  const text = textOf(message)
  const files = [...text.matchAll(/^<file [^>]*>\n([^]*?)\n<\/file id=[^>]*>$/gm)].map(([, inside]) => inside!)
  const told = files.length > 0 ? files : text.split('\n').filter((line) => line.startsWith('- '))
  return { role: 'system', content: [{ type: 'text', text: told.join('\n') }] }
}
