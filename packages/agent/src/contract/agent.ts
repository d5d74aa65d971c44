import type { Context } from 'cordis'
import type {
  AssistantMessage, CallConfig, ContentInput, Contribution, ContributionInput, FileBlock, FinishReason, ImageBlock, Json, MessageInput,
  Usage,
} from '@headrace/message'
import type { RunContext } from '@headrace/run-context'
import type { Entry, EntryId, OpenQuestion, RememberedAnswer, SessionEvent, SessionView } from '@headrace/session'
import type { AnswerOptions } from './question.ts'
import type { OutputSchema, TurnHandle } from './turn.ts'

/** Options of `agent.prompt()`. */
export interface PromptOptions<Output = unknown> {
  /** What is true for this turn. */
  readonly context?: RunContext
  /** Fields that differ for this turn only. */
  readonly config?: Partial<CallConfig>
  /**
   * What the answer must be. It goes to the model by its provider's own mechanism, and is checked: the loop tells the model once what does
   * not fit, then the turn ends with `OUTPUT_INVALID`. `result.output` has it.
   */
  readonly output?: OutputSchema<Output>
  /** Aborted, it cancels the turn, or takes the prompt back where the turn has not begun. */
  readonly signal?: AbortSignal
}

/** Options of `agent.replace()`. */
export interface ReplaceOptions {
  /** Why, for the log. */
  readonly reason: string
  /** Signs the event, and the messages that have no key of their own: `plugin/key`. */
  readonly key?: string
}

/** Options of `agent.keep()`. */
export interface KeepOptions {
  readonly signal?: AbortSignal
  /** Characters that a message may have, asked for each in order: what is longer loses its end, with a note that says so. */
  readonly limit?: (message: Contribution) => number
}

/** Options of `agent.cancel()`. */
export interface CancelOptions {
  /** What becomes of prompts that wait. Default: `keep`. Steers are withdrawn either way. */
  readonly queue?: 'keep' | 'withdraw'
}

/** How far a session goes back: `turns` or `to`, not both. */
export interface RewindOptions {
  /** How many turns are taken back. Default: 1, the last one. */
  readonly turns?: number
  /** The number of the turn to whose beginning the session goes back. */
  readonly to?: number
  /** Ends a turn that runs, first. Default: a rewind is refused while one runs. */
  readonly cancel?: boolean
  /** What becomes of prompts that wait. Default: `keep`. */
  readonly queue?: 'keep' | 'withdraw'
  /** Why, for the log. */
  readonly reason?: string
}

/** Options of `agent.ask()`. */
export interface AskOptions {
  /** What it is for, in a word: `summary`, `title`. Stands in the log. */
  readonly purpose: string
  /** Fields that differ from the folded config. */
  readonly config?: Partial<CallConfig>
  /** `same` (the default) keeps the provider's cache warm; a call in the answer is not run. */
  readonly tools?: 'same' | 'none'
  readonly signal?: AbortSignal
}

/** What `agent.ask()` resolves with. */
export interface SideAnswer {
  readonly message: AssistantMessage
  readonly usage: Usage
  readonly finish: FinishReason
}

/**
 * A live driver of one session, as one plugin (or the app) sees it: what goes in through it is signed with that plugin's name (L14).
 *
 * ```ts
 * const agent = await ctx.agents.create({ cwd: process.cwd() })
 * const { text } = await agent.prompt('Why does the test fail?').result
 * ```
 */
export interface Agent {
  /** The session's id. */
  readonly id: string
  /** The plugin that holds this view; `app` outside of any. */
  readonly plugin: string
  /** Absolute path of the folder it works in. */
  readonly cwd: string
  /**
   * The time, in milliseconds since the epoch: of the newest `turn/start`, `step/start` or `step/end` of the log, so that a rerun has the
   * log's. Plugins should use no other clock for what they tell the model.
   */
  readonly now: number
  /** The log: to read, and to append events of types that plugins add. */
  readonly session: SessionView
  /** A context whose plugins, listeners and tools serve this agent alone, and go with it. */
  readonly ctx: Context
  /** `waiting`: it has something to do, and waits for a slot among the app's turns (`concurrentTurns`). */
  readonly state: 'idle' | 'waiting' | 'running'
  /** The handle of the turn that runs. */
  readonly turn: TurnHandle | undefined

  /** Questions that wait for an answer, in the order they were asked; `session/event` and `session.on('event')` tell of each. */
  readonly questions: readonly OpenQuestion[]
  /** Answers that count for more than their question, oldest first: of this session, whatever was rewound, and none of a parent's. */
  readonly remembered: readonly RememberedAnswer[]

  /**
   * Answers a question: `'allow'`, `'deny'` or `{ deny: 'why' }` where it is a permission, any JSON that fits its schema where it is an
   * input, `null` to decline. Signed `user` from the app, `plugin/answer` from a door (`ctx.agents.attend()`). The first answer in the log
   * counts; it is durable when this resolves.
   *
   * @throws AgentError `QUESTION_CLOSED`, `ANSWER_INVALID`, `NO_DOOR` for a plugin that is none; StoreError
   */
  answer(question: number, answer: Json, options?: AnswerOptions): Promise<SessionEvent<'question/answered'>>

  /**
   * Queues input as a turn of its own, with what is true for that turn. Durable when `handle.accepted` resolves.
   *
   * ```ts
   * const { output } = await agent.prompt('Where is it?', { output: z.object({ file: z.string() }) }).result
   * ```
   *
   * @throws AgentError where it is empty or the queue is full; ConfigError
   */
  prompt<Output = unknown>(input: ContentInput, options?: PromptOptions<Output>): TurnHandle<Output>

  /**
   * From the app: input for the running turn, at its next boundary; a prompt when idle. From a plugin, and from the app with a key or as
   * `system`: a message that wakes the agent.
   *
   * @returns the handle of the turn that it joins or wakes, which has what that turn told before, too
   * @throws AgentError where it is empty
   */
  steer(input: ContributionInput): TurnHandle

  /**
   * Adds a message to the history; the model sees it at the next boundary. Does not wake. Blank text is dropped. A message that answers
   * itself (10,000 of them, more than 100 a step and 500 a second) is refused and reported, and gives `undefined`.
   */
  inject(message: ContributionInput): SessionEvent<'context/message'> | undefined

  /**
   * Puts messages, of any role, in the place of a part of the history (`surface/replace`). Not while a step is open: do it in
   * `agent/pre-step`. What {@link keep} gave, and what stood in that part, is signed by whose it is.
   *
   * @throws LogError
   */
  replace(first: EntryId, last: EntryId, messages: readonly (ContributionInput | MessageInput)[], options: ReplaceOptions): SessionEvent<'surface/replace'>

  /**
   * Asks the listeners of `compaction/keep` what must outlive a part of the history, for a {@link replace} that takes it away. One that
   * fails is reported and passed over.
   *
   * @param entries what goes, of `session.entries()`
   * @throws AgentError where it is another's; CancelledError
   */
  keep(entries: readonly Entry[], options?: KeepOptions): Promise<readonly Contribution[]>

  /**
   * Takes back the last turn, or more: the history is again what it was when that turn began. Durable when it resolves. The log keeps
   * everything; what tools did stays done; what topics told and it hid is told again.
   *
   * ```ts
   * await agent.rewind()                 // the last turn
   * await agent.rewind({ turns: 2 })     // the last two
   * await agent.rewind({ to: 5 })        // to where turn 5 began
   * ```
   *
   * @throws AgentError while a turn runs (see `cancel`), or where there is no such turn; StoreError
   */
  rewind(options?: RewindOptions): Promise<SessionEvent<'surface/rewind'>>

  /** Changes the session's title (`session/title`). @throws AgentError where it is blank */
  setTitle(title: string): void

  /** Changes the seed of the next request (L6). @throws ConfigError */
  configure(patch: Partial<CallConfig>): void

  /**
   * A side request: a summary, a title, a judgement, on the warm cache. It answers nothing that is owed.
   *
   * @throws AgentError, ModelError
   */
  ask(messages: readonly ContributionInput[], options: AskOptions): Promise<SideAnswer>

  /** Stores bytes beside the log and returns the block that refers to them. */
  putImage(bytes: Uint8Array, mediaType: string): Promise<ImageBlock>

  /** The same for a file that is no image, e.g. an `application/pdf`. */
  putFile(bytes: Uint8Array, mediaType: string, name?: string): Promise<FileBlock>

  /** Reports what went wrong and does not stop the agent: `agent/report`, and Cordis' log. */
  report(seam: string, problem: string): void

  /** Takes back a prompt that waits. */
  withdraw(prompt: number, reason?: string): void

  /**
   * Ends the turn that runs, or that is open and waits for a slot. Steers that wait are withdrawn; prompts are kept,
   * unless `queue` says otherwise.
   */
  cancel(reason?: string, options?: CancelOptions): void

  /** Runs what waits in the queue; needed after a resume. */
  wake(): void

  /** Resolves when nothing runs. */
  idle(): Promise<void>

  /** Cancels, flushes, and gives the session back. */
  dispose(): Promise<void>

  /**
   * Stops what runs without ending its turn, flushes, and gives the session back: a resume, in this process or another, goes on with it, as
   * after a kill. For a host that goes down. The handle's result says `parked`.
   */
  park(): Promise<void>
}
