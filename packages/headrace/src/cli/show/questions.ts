import type { Agent } from '@headrace/agent'
import { type Json, type JsonObject, callsOf, messageOf } from '@headrace/message'
import { type ExcerptSize, excerptOf, shownQuestion, writtenLine } from '@headrace/consent'
import type { Question, QuestionOption, SessionEvent } from '@headrace/session'
import type { Context } from 'cordis'
import { type AskedOn, Prompter } from './prompter.ts'

/** Of a name or a label. */
const LINE: ExcerptSize = { lines: 1, width: 200 }

export interface QuestionsOptions {
  /** Allows what would be asked, without a question: the log names it. */
  readonly yes: boolean
  /** The terminal to ask on; absent where nobody sits at one: what needs a permission is denied. */
  readonly terminal?: AskedOn
  /** Ctrl-C at the question. */
  readonly interrupt: () => void
}

/** The command's own door: shows questions on the terminal and answers with what was typed after; or is told `--yes`. */
export const questions = {
  name: 'run',
  inject: ['agents'],
  async apply(ctx: Context, { yes, terminal, interrupt }: QuestionsOptions): Promise<void> {
    // In front of every rule: it allows what any of them asks for, and nothing that one denies.
    if (yes) ctx.on('tools/pre-execute', async (_agent, _turn, _call, next) => {
      const decision = await next()
      return typeof decision === 'object' && 'ask' in decision ? { allow: '--yes' } : decision
    }, { prepend: true })
    if (!terminal) return
    ctx.agents.attend()
    const door = new Door(ctx, new Prompter(terminal, interrupt))
    ctx.on('session/event', (agent, event) => door.event(agent, event))
    ctx.effect(() => () => door.close())
  },
}

/** Asks one question after the other. */
class Door {
  private readonly ctx: Context
  private readonly prompter: Prompter
  private readonly open = new Map<string, AbortController>()
  private last: Promise<void> = Promise.resolve()

  constructor(ctx: Context, prompter: Prompter) {
    this.ctx = ctx
    this.prompter = prompter
  }

  event({ id }: Agent, event: SessionEvent): void {
    switch (event.type) {
      case 'question/asked': return this.ask(id, event)
      case 'question/answered': return this.open.get(`${id}/${event.data.question}`)?.abort(`answered by ${event.data.by}`)
      case 'tool/result':
        for (const [key, closing] of this.open) if (key.startsWith(`${id}/`) && !this.isOpen(key)) closing.abort('its call has ended')
    }
  }

  close(): void {
    for (const closing of this.open.values()) closing.abort('the command ends')
  }

  private isOpen(key: string): boolean {
    const at = key.lastIndexOf('/')
    // What the app says is the user's: who sits here is the user (L14).
    return this.ctx.root.agents.get(key.slice(0, at))?.questions.some(({ seq }) => seq === Number(key.slice(at + 1))) ?? false
  }

  private ask(id: string, { seq, data }: SessionEvent<'question/asked'>): void {
    const key = `${id}/${seq}`
    const closing = new AbortController()
    this.open.set(key, closing)
    this.last = this.last.then(async () => {
      const agent = this.ctx.root.agents.get(id)
      if (agent && !closing.signal.aborted) await this.put(agent, seq, data, closing.signal)
    }).catch((error: unknown) => this.prompter.say(`headrace: the question could not be answered: ${messageOf(error)}`))
      .finally(() => this.open.delete(key))
  }

  private async put(agent: Agent, seq: number, question: Question, closed: AbortSignal): Promise<void> {
    const message = agent.session.at(question.assistant)
    const call = message?.type === 'assistant/message' ? callsOf(message.data.message)[question.index] : undefined
    const input = question.kind === 'permission' && call ? { name: call.name, input: inputOf(call.arguments) } : undefined
    const { lines, whole, isCut } = shownQuestion(question.question, input)
    // Else a tool's words could pass for a question about another call.
    const asker = question.kind === 'input' && call ? [`${writtenLine(call.name)} asks for a value:`] : []
    const head = [...whose(agent), ...asker]
    const prompt = { lines: [...head, ...lines], ...(isCut && { whole: [...head, ...whole] }), signal: closed }
    const answer = question.kind === 'permission' ? await this.permission(question, prompt) : await this.input(question, prompt)
    // Somebody else was faster, or its call is over.
    if (closed.aborted) return
    await agent.answer(seq, answer.answer, answer.remember === undefined ? {} : { remember: answer.remember })
  }

  private async permission({ options = [] }: Question, prompt: Parameters<Prompter['ask']>[0]): Promise<Answer> {
    const kept = options.filter(({ remember }) => remember !== undefined)
    const choices = kept.map((option, index) => `  [${index + 1}] ${permissionLabel(option)}`)
    const words = `[y]es, [n]o${kept.length > 0 ? `, [1${kept.length > 1 ? `-${kept.length}` : ''}]` : ''}`
    let shown = { ...prompt, lines: [...prompt.lines, ...choices] }
    for (;;) {
      const line = await this.prompter.ask(shown, words)
      if (line === undefined) return { answer: { deny: 'nobody answered the question' } }
      const word = line.trim().toLowerCase()
      const chosen = /^\d+$/.test(word) ? kept[Number(word) - 1] : undefined
      if (chosen) return { answer: chosen.answer, remember: chosen.remember }
      if (['y', 'yes'].includes(word)) return { answer: 'allow' }
      if (['n', 'no', ''].includes(word)) return { answer: 'deny' }
      shown = { ...shown, lines: [`${JSON.stringify(writtenLine(line.trim().slice(0, 40)))} was not understood.`] }
    }
  }

  /** A line for a text, a line for each field of an object, else JSON. Nothing at all declines. */
  private async input({ schema, options = [] }: Question, prompt: Parameters<Prompter['ask']>[0]): Promise<Answer> {
    const offered = options.map((option, index) => `  [${index + 1}] ${valueLabel(option)}`)
    const fields = Object.entries((schema?.properties ?? {}) as Record<string, JsonObject>)
    if (fields.length === 0) {
      const line = await this.prompter.ask({ ...prompt, lines: [...prompt.lines, ...offered] }, 'your answer, or nothing to decline')
      const chosen = offered.length > 0 && line !== undefined ? options[Number(line) - 1] : undefined
      return { answer: chosen ? chosen.answer : valueOf(line, schema) }
    }
    const answer: Record<string, Json> = {}
    let { lines } = prompt
    for (const [name, field] of fields) {
      const line = await this.prompter.ask({ ...prompt, lines }, `${shortLine(name)}${typeof field.description === 'string' ? ` (${shortLine(field.description)})` : ''}`)
      lines = []
      const value = valueOf(line, field)
      if (value !== null) answer[name] = value
    }
    return { answer: Object.keys(answer).length === 0 ? null : answer }
  }
}

/** Who asks, where it is not the agent that was prompted here: a subagent. */
function whose({ id, session: { origin, title } }: Agent): readonly string[] {
  if (!origin?.under) return []
  return [`asked by the ${writtenLine(origin.kind ?? 'session')} ${writtenLine(id)}${title === undefined ? '' : `: ${writtenLine(title)}`}`]
}

/** On one line of bounded length, its end in sight. */
function shortLine(text: string): string {
  return excerptOf(writtenLine(text), LINE).lines[0]!
}

/** What an option does stands in front of what its plugin says of it. */
function permissionLabel({ answer, label = '' }: QuestionOption): string {
  const does = answer === 'allow' ? 'allow' : 'deny'
  return label === does || label.startsWith(`${does} `) ? shortLine(label) : `${does}: ${shortLine(label)}`
}

/** The answer itself stands behind a label that says something else. */
function valueLabel({ answer, label }: QuestionOption): string {
  const value = typeof answer === 'string' ? answer : JSON.stringify(answer)
  return label === undefined || label === value ? shortLine(value) : `${shortLine(label)} (${shortLine(value)})`
}

interface Answer {
  readonly answer: Json
  readonly remember?: Json | undefined
}

function inputOf(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject
  } catch {
    return { arguments: text }
  }
}

/** A line as the schema wants it; what does not fit is refused where it is given. */
function valueOf(line: string | undefined, schema: JsonObject | undefined): Json {
  const text = line?.trim() ?? ''
  if (text === '') return null
  if (schema === undefined || schema.type === undefined || schema.type === 'string') return text
  if (schema.type === 'boolean' && /^(y|yes|n|no)$/i.test(text)) return /^y/i.test(text)
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
