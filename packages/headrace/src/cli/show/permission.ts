import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { Permission, ToolCall } from '@headrace/agent'
import type { Context } from 'cordis'
import { brief, visible } from '../base/text.ts'

/** Lines of one argument that are shown before the question. */
const MAX_LINES = 40

export interface PermissionOptions {
  /** Allows everything, without a question. */
  readonly yes: boolean
  /** The terminal to ask on; absent where nobody sits at one: the seam's own answer, which is no, stands. */
  readonly terminal?: { readonly input: Readable; readonly output: Writable }
  /** Ctrl-C at the question. */
  readonly interrupt: () => void
}

/** Answers `tools/ask` for the command: asks the person at the terminal, allows with `--yes`, and leaves it to the seam otherwise. */
export const permission = {
  name: 'permission',
  inject: ['agents'],
  async apply(ctx: Context, { yes, terminal, interrupt }: PermissionOptions): Promise<void> {
    const always = new Set<string>()
    ctx.on('tools/ask', async (_agent, turn, call, question, next): Promise<Permission> => {
      if (yes || always.has(call.name)) return 'allow'
      if (!terminal) {
        const answer = await next()
        return answer === 'allow' ? answer : { deny: `${answer.deny} (the user can allow it with --yes)` }
      }
      const { input, output } = terminal
      output.write(`${shownInput(call, visible(question))}${visible(question)}\n`)
      for (;;) {
        const line = await ask(input, output, `[y]es, [n]o, [a]lways for ${brief(call.name, 64)} in this run: `, turn.signal, interrupt)
        if (line === undefined) return { deny: 'nobody answered the question' }
        const word = line.trim().toLowerCase()
        if (['a', 'always'].includes(word)) always.add(call.name)
        if (['y', 'yes', 'a', 'always'].includes(word)) return 'allow'
        if (['n', 'no', ''].includes(word)) return { deny: 'the user said no' }
      }
    })
  },
}

/** A line of the terminal; undefined where it was closed, or the turn was cancelled. */
function ask(input: Readable, output: Writable, question: string, signal: AbortSignal, interrupt: () => void): Promise<string | undefined> {
  return new Promise((resolve) => {
    const lines = createInterface({ input, output, historySize: 0 })
    const close = (): void => lines.close()
    const end = (answer: string | undefined): void => {
      signal.removeEventListener('abort', close)
      resolve(answer)
      lines.close()
    }
    // In raw mode Ctrl-C is a key, and no signal.
    lines.on('SIGINT', interrupt)
    lines.once('close', () => end(undefined))
    signal.addEventListener('abort', close, { once: true })
    if (signal.aborted) return close()
    lines.question(question, end)
  })
}

/** What the call would do, in full where that is short enough to be read; without what the question ends with, which it would say twice. */
function shownInput({ input }: ToolCall, question: string): string {
  return Object.entries(input).map(([name, value]) => {
    const text = visible(typeof value === 'string' ? value : JSON.stringify(value))
    if (text !== '' && [` ${text}`, ` ${text}?`].some((end) => question.endsWith(end))) return ''
    const lines = text.split('\n')
    const shown = lines.slice(0, MAX_LINES).map(cut)
    if (lines.length > MAX_LINES) shown.push(`… ${lines.length - MAX_LINES} more lines`)
    return shown.length === 1 ? `  ${brief(name, 40)}: ${shown[0]!}\n` : `  ${brief(name, 40)}:\n${shown.map((line) => `    ${line}\n`).join('')}`
  }).join('')
}

function cut(line: string): string {
  return line.length <= 1_000 ? line : `${line.slice(0, 1_000).toWellFormed()} … ${line.length - 1_000} more characters`
}
