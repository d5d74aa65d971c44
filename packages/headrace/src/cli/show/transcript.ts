import { type Chunk, type JsonObject, type ToolCallBlock, type Usage, callsOf, textOf } from '@headrace/message'
import type { RunningCommand } from '@headrace/plugin-workspace-tools'
import type { Piece, SessionEvent } from '@headrace/session'
import { shownStore } from '../base/store.ts'
import type { Summary } from '../base/tally.ts'
import { brief, count, nameText } from '../base/text.ts'
import { LiveOutput } from './live-output.ts'
import type { Terminal } from './terminal.ts'

/** A run for a person: the answer on stdout as it comes; reasoning, tool calls, results and how it ended on stderr. */
export class Transcript implements Audience {
  private readonly terminal: Terminal
  /** The last attempt's failure; shown where a retry follows, since the end of the turn shows the final one. */
  private failed: string | undefined

  private readonly live: LiveOutput
  /** Of calls that were asked for together, as `assistant/index`. */
  private readonly labels = new Map<string, string>()

  constructor(terminal: Terminal) {
    this.terminal = terminal
    this.live = new LiveOutput(terminal)
  }

  piece(piece: Piece): void {
    if (piece.type === 'progress') this.live.piece(piece, this.labelOf(piece))
  }

  chunk(chunk: Chunk): void {
    // A program gets complete answers only: half of one cannot be taken back when the request is retried.
    if (chunk.type === 'text' && this.terminal.isShown) this.terminal.text(chunk.text)
    if (chunk.type === 'reasoning') this.terminal.aside(chunk.text)
  }

  event(event: SessionEvent): void {
    const { terminal } = this
    this.live.event(event)
    switch (event.type) {
      case 'request/dispatch':
        if (this.failed !== undefined) terminal.note(`✗ the request failed, and goes out again: ${brief(this.failed, 500)}`)
        this.failed = undefined
        return
      case 'request/end':
        terminal.breakLines()
        this.failed = event.data.error?.message
        return
      case 'assistant/message':
        if (!terminal.isShown) terminal.text(textOf(event.data.message))
        return this.calls(event.seq, callsOf(event.data.message))
      case 'tool/result': {
        const [block] = event.data.message.content
        const label = this.labelOf(event.data)
        this.labels.delete(keyOf(event.data))
        if (event.data.outcome === 'unknown') return terminal.warn(`✗ ${label}${brief(block.name, 64)} was running when it was cut off: its outcome is unknown, and it is not run again`)
        const failed = event.data.outcome !== 'done'
        return terminal.note(`${failed ? '✗' : '←'} ${label}${brief(block.name, 64)}: ${shownResult(textOf(block))}`)
      }
      case 'retry/again':
        if (event.data.delay < 1_000) return
        terminal.note(`✗ the request failed${this.failed === undefined ? '' : `: ${brief(this.failed, 500)}`}`)
        this.failed = undefined
        return terminal.note(`… it goes out again in ${count(Math.round(event.data.delay / 1000))} s`)
      case 'user/message': if (event.data.owner !== 'user') terminal.note(`+ ${nameText(event.data.owner)}: ${brief(textOf(event.data.message), 200)}`)
    }
  }

  /** Each call; where there are several, with a number that its result has too. */
  private calls(assistant: number, calls: readonly ToolCallBlock[]): void {
    for (const [index, call] of calls.entries()) {
      if (calls.length > 1) this.labels.set(keyOf({ assistant, index }), `[${index + 1}] `)
      this.terminal.note(`→ ${this.labelOf({ assistant, index })}${brief(call.name, 64)} ${shownArguments(call.arguments)}`)
    }
  }

  private labelOf(call: CallAt): string {
    return this.labels.get(keyOf(call)) ?? ''
  }

  below(session: string, { data }: SessionEvent<'tool/result'>): void {
    const [block] = data.message.content
    this.terminal.note(`✗ ${brief(block.name, 64)} in the session ${nameText(session)}: ${shownResult(textOf(block))}`)
  }

  waits(commands: readonly AwaitedCommand[]): void {
    this.terminal.note(waitText(commands))
  }

  end({ session, store, reason, error, finish, denied = 0, unattended = 0, steps, usage, cost }: Summary): void {
    const { terminal } = this
    terminal.breakLines()
    if (finish === 'length') terminal.warn('headrace: warning: the answer was cut off at the model\'s output limit')
    if (finish === 'refusal') terminal.warn('headrace: warning: the model, or its provider, refused to answer')
    if (finish === 'other') terminal.warn('headrace: warning: the model stopped for a reason that its provider does not explain')
    if (finish === 'empty' && reason === 'done') terminal.warn('headrace: warning: the model ended its turn without a word')
    if (reason === 'cancelled' || reason === 'withdrawn') terminal.warn(`headrace: ${error?.message ?? 'cancelled'}`)
    else if (reason !== 'done') terminal.warn(`headrace: ${reason === 'error' ? '' : `the turn ended with "${reason}": `}${error?.message ?? 'the turn failed'}`)
    if (denied > 0) terminal.warn(`headrace: ${deniedText(denied, unattended)}`)
    const made = steps === 0 ? 'nothing was sent' : `${steps} step${steps === 1 ? '' : 's'}`
    terminal.note([made, ...shownUsage(usage), ...(cost === undefined ? [] : [`$${cost.toFixed(4)}`]), `session ${session}${shownStore(store)}`].join(' · '))
  }
}

interface CallAt {
  readonly assistant: number
  readonly index: number
}

function keyOf({ assistant, index }: CallAt): string {
  return `${assistant}/${index}`
}

/** @param unattended how many of them would have been asked for, with nobody there to ask */
function deniedText(denied: number, unattended: number): string {
  const hint = 'nobody was there to allow it (--yes allows what would be asked)'
  const head = `${denied === 1 ? '1 call was' : `${denied} calls were`} denied`
  if (unattended === 0) return `${head} by a rule or a plugin`
  return unattended >= denied ? `${head}: ${hint.replace('it', denied === 1 ? 'it' : 'them')}` : `${head}: ${denied - unattended} by a rule or a plugin; for ${unattended} ${hint}`
}

/** Nothing where there is no usage: the request was not sent, did not get through, or the endpoint reports none. */
function shownUsage({ input, cached, output }: Usage): readonly string[] {
  if (input === 0 && output === 0) return []
  return [`${count(input)} tokens in${cached > 0 ? ` (${count(cached)} cached)` : ''}, ${count(output)} out`]
}

/** Arguments of a call on one line: `path="a.js" old="…"`; what is no JSON object as it came. */
export function shownArguments(text: string): string {
  const input = parsed(text)
  if (!input) return brief(text, 160)
  const fields = Object.entries(input).map(([name, value]) => `${brief(name, 40)}=${brief(JSON.stringify(value), 80)}`)
  return brief(fields.join(' '), 200)
}

/** The same, nothing of it left out. */
export function wholeArguments(text: string): string {
  const input = parsed(text)
  return input ? Object.entries(input).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(' ') : text
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** A result on one line: its first and last line, where it has more, and how many. */
function shownResult(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const [first = '(nothing)'] = lines
  return lines.length < 2 ? brief(first, 160) : `${brief(first, 100)} … ${brief(lines.at(-1)!, 60)} (${lines.length} lines)`
}

/** Who follows a run: a person, or a program. */
export interface Audience {
  event(event: SessionEvent): void
  chunk(chunk: Chunk): void
  piece(piece: Piece): void
  /** A call was denied in a session that works for this one. */
  below(session: string, event: SessionEvent<'tool/result'>): void
  /** The agent has nothing to do, and waits for these commands in the background. */
  waits(commands: readonly AwaitedCommand[]): void
  end(summary: Summary): void
}

/** A command in the background that is to wake the agent. */
type AwaitedCommand = Pick<RunningCommand, 'id' | 'command'>

function waitText(commands: readonly AwaitedCommand[]): string {
  const which = commands.map(({ id, command }) => `${id} (${brief(command, 60)})`).join(', ')
  return `… waits for ${which} in the background, to wake the agent; Ctrl-C ends ${commands.length === 1 ? 'it' : 'them'}, and --no-wait does not wait`
}

/** A run for a program: every event, every piece of an answer, and what tools show is a JSON line, and a last one tells the result. */
export function jsonLines(terminal: Terminal): Audience {
  return {
    event: (event) => terminal.json(event),
    chunk: (chunk) => {
      if (chunk.type === 'text' || chunk.type === 'reasoning') terminal.json({ type: chunk.type, text: chunk.text })
    },
    piece: (piece) => {
      if (piece.type === 'progress') terminal.json({ type: piece.type, index: piece.index, from: piece.from, at: piece.at, text: piece.text })
    },
    below: () => undefined,
    // Not of the log, and no line of the result: whoever looks at a run that does not end sees why.
    waits: (commands) => terminal.note(waitText(commands)),
    end: ({ unattended: _, ...summary }) => terminal.json({ type: 'result', ...summary }),
  }
}
