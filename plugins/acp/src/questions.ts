import type { AgentContext, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { Seat } from '@headrace/desk'
import { type Json, messageOf } from '@headrace/message'
import { type Asked, type Chosen, answerOf, askedCall, choicesOf, formOf } from './asked.ts'
import type { CallView } from './call-view.ts'
import { methods } from './sdk.ts'

/** Where a question stands, and how the client has its call. */
export interface AskedAt {
  /** The session whose log it stands in, and the seq of its `question/asked`. */
  readonly session: string
  readonly question: number
  /** The call in the client's session: its item, and its id there. */
  readonly call: string
  readonly toolCallId: string
  readonly view: Partial<CallView>
}

/** What the questions of one session need. */
export interface QuestionsOptions {
  readonly client: AgentContext
  readonly seat: Seat
  /** The client has forms. */
  readonly forms: boolean
  /** The client was sent these fields of a call; `view` is how it was before. */
  told(at: AskedAt, fields: Partial<CallView>): void
  /** The dialog is over. */
  over(at: AskedAt): void
  warn(problem: string): void
}

/** Asks the client what waits for a person, each question once, and answers with what it says. */
export class Questions {
  private readonly options: QuestionsOptions
  private readonly open = new Map<string, AbortController>()

  constructor(options: QuestionsOptions) {
    this.options = options
  }

  /** Puts a question to the client, unless it has it already. */
  ask(at: AskedAt, asked: Asked): void {
    const key = `${at.session}/${at.question}`
    if (this.open.has(key)) return
    const closing = new AbortController()
    this.open.set(key, closing)
    void this.answered(at, asked, closing.signal).catch((error: unknown) => this.options.warn(`the question could not be answered: ${messageOf(error)}`))
      .finally(() => this.open.delete(key))
  }

  /** It was answered elsewhere, or its call has ended: the client's dialog is for nothing. */
  close(session: string, question: number): void {
    this.open.get(`${session}/${question}`)?.abort()
  }

  /** The same for all questions that are not among these. */
  keep(standing: readonly { readonly session: string; readonly seq: number }[]): void {
    const keys = new Set(standing.map(({ session, seq }) => `${session}/${seq}`))
    for (const [key, closing] of this.open) if (!keys.has(key)) closing.abort()
  }

  closeAll(): void {
    for (const closing of this.open.values()) closing.abort()
  }

  private async answered(at: AskedAt, asked: Asked, signal: AbortSignal): Promise<void> {
    const { seat } = this.options
    const chosen = await this.put(at, asked, signal)
    this.options.over(at)
    if (signal.aborted || !chosen) return
    const isIt = ({ session, seq }: (typeof seat.questions)[number]): boolean => session === at.session && seq === at.question
    const target = at.session === seat.id ? at.question : seat.questions.find(isIt)
    if (target === undefined) return
    try {
      await seat.answer(target, chosen.answer, chosen.remember === undefined ? {} : { remember: chosen.remember })
    } catch (error) {
      // Somebody else was faster, or its call is over.
      if ((error as { readonly code?: unknown }).code !== 'QUESTION_CLOSED') throw error
    }
  }

  private async put(at: AskedAt, asked: Asked, signal: AbortSignal): Promise<Chosen | undefined> {
    const { client, seat, forms } = this.options
    const options = { cancellationSignal: signal, stopWaitingOnCancel: true }
    const form = asked.kind === 'input' && (asked.options ?? []).length === 0 && forms ? formOf(seat.id, at.toolCallId, asked) : undefined
    try {
      if (form) {
        const answer = await client.request(methods.client.elicitation.create, form, options)
        return { answer: answer.action === 'accept' ? answerOf(asked, (answer as { readonly content?: Record<string, Json> }).content) : null }
      }
      const toolCall = askedCall(at.toolCallId, asked, at.view)
      const { toolCallId: _, ...fields } = toolCall
      this.options.told(at, fields as Partial<CallView>)
      const choices = choicesOf(asked)
      const response = await client.request(methods.client.session.requestPermission, {
        sessionId: seat.id, toolCall, options: choices.map(({ option }) => option),
        _meta: { 'headrace/question': at.question, 'headrace/session': at.session },
      }, options)
      return choiceIn(response, choices, asked)
    } catch (error) {
      if (signal.aborted) return undefined
      // Nobody there can be asked, which is no consent.
      return asked.kind === 'input' ? { answer: null } : { answer: { deny: `the client could not be asked: ${messageOf(error)}`.slice(0, 400) } }
    }
  }
}

/** What the client chose. A dialog that was closed, or an option that nobody offered, is no consent. */
function choiceIn({ outcome }: RequestPermissionResponse, choices: ReturnType<typeof choicesOf>, { kind }: Asked): Chosen {
  const chosen = outcome.outcome === 'selected' ? choices.find(({ option }) => option.optionId === outcome.optionId) : undefined
  if (chosen) return chosen.chosen
  return { answer: kind === 'input' ? null : { deny: 'the client closed the question' } }
}
