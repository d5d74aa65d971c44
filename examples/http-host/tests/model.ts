import { type ChatBody, type Reply, toolResults } from '@headrace/model-server'
import { KEY } from './host.ts'

/** Prompts of the tests, and what the model makes of them: a function of the conversation, but for the first word `once`. */
export function reply(body: ChatBody, seen = new Set<string>()): Reply | string {
  const prompt = lastSaid(body)
  const [word, ...rest] = prompt.split(' ')
  const text = rest.join(' ')
  switch (word) {
    case 'slow': return { text: `slowly: ${text}`, chunkSize: 4, delay: 40 }
    case 'hang': return { text: 'now I hang', stallAfter: 1 }
    // Hangs the first time it is asked, answers the next time: as a provider does that came back.
    case 'once': {
      if (seen.has(prompt)) return `at last: ${text}`
      seen.add(prompt)
      return { text: 'half of it', stallAfter: 1 }
    }
    case 'large': return { text: 'x'.repeat(Number(text)), chunkSize: 65_536 }
    case 'fail': return { error: { status: 401, code: 'invalid_api_key', message: `Incorrect API key provided: ${KEY}. See /etc/host.` } }
    case 'call': return calls(body, text)
    default: return `you said: ${prompt}`
  }
}

/**
 * What the user's side said last. The wire puts a prompt and a plugin's request that follows it into one message, and what the app says
 * in between, in tags.
 */
function lastSaid({ messages }: ChatBody): string {
  const texts = messages.filter(({ role }) => role === 'user').flatMap(({ content }) =>
    typeof content === 'string' ? [content] : (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])))
  return texts.findLast((text) => !text.startsWith('<system>')) ?? ''
}

/** What tools take beside a path. */
const MORE: Readonly<Record<string, object>> = {
  write: { content: 'written\n' },
  edit: { old: 'treasure', new: 'nothing' },
  glob: { pattern: '*' },
  grep: { pattern: 'treasure' },
  bash: { command: 'cat ../bob/secret.txt' },
}

/** `call read ../bob/secret.txt`: calls the tool with each of these as its path, then tells the results. */
function calls(body: ChatBody, text: string): Reply | string {
  const [tool, ...paths] = text.split(' ')
  const results = toolResults(body).slice(-paths.length)
  if (body.messages.at(-1)?.role === 'tool') return `results: ${results.map((result) => result.text).join(' | ')}`
  return { reasoning: `I call ${tool}.`, toolCalls: paths.map((path) => ({ name: tool!, arguments: { ...(tool !== 'bash' && { path }), ...MORE[tool!] } })) }
}
