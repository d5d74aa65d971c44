import { fstatSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { UsageError } from './error.ts'

export interface PromptSource {
  /** Words of the command line; `-` alone stands for stdin. */
  readonly words: readonly string[]
  /** Without words stdin is read, where something is piped into it. */
  readonly fromPipe: boolean
  readonly stdin?: NodeJS.ReadStream
}

/** The prompt: words, else stdin; `undefined` where neither is given. @throws UsageError for an empty one */
export async function readPrompt({ words, fromPipe, stdin = process.stdin }: PromptSource): Promise<string | undefined> {
  const isDash = words.length === 1 && words[0] === '-'
  if (words.length > 0 && !isDash) {
    const prompt = words.join(' ')
    if (prompt.trim() === '') throw new UsageError('the prompt is empty; say what the agent should do')
    return prompt
  }
  if (!isDash && !(fromPipe && isPiped(stdin))) return undefined
  const prompt = (await text(stdin)).trim()
  if (prompt === '' && isDash) throw new UsageError('stdin is empty; pipe the prompt into it, or give it as an argument')
  return prompt === '' ? undefined : prompt
}

/** True for a pipe, a socket and a file; not for a terminal, nor for /dev/null. */
function isPiped(stdin: NodeJS.ReadStream): boolean {
  if (stdin.isTTY) return false
  try {
    const stats = fstatSync(0)
    return stats.isFIFO() || stats.isFile() || stats.isSocket()
  } catch {
    return false // It is closed.
  }
}
