import type { Context } from 'cordis'
import type { RunContext } from '@headrace/run-context'
import type { ErrorRecord, ProgressPiece, Session, ToolChoice, TurnReason } from '@headrace/session'
import type { ContextWeight, RequestBudget } from '@headrace/tokens'
import type { AdapterTools } from '../contract/adapter.ts'
import type { Agent } from '../contract/agent.ts'
import type { ParkedError } from '../contract/error.ts'
import type { Settings } from '../contract/settings.ts'
import type { ToolStart, Turn } from '../contract/turn.ts'
import type { Countdown } from '../seams/countdown.ts'
import type { Departures } from '../seams/listener-owner.ts'
import type { Outcomes } from '../seams/outcome.ts'
import type { Reporter } from '../seams/report.ts'
import type { Seams } from '../seams/seams.ts'
import type { AdapterRegistry } from './adapters.ts'
import type { InstanceHeader } from './instance-header.ts'
import type { Parameters } from './parameters.ts'
import type { Questions } from './questions.ts'
import type { RunContexts } from './run-contexts.ts'
import type { SystemRegistry } from './system-registry.ts'
import type { ToolRegistry } from './tool-registry.ts'

/** The turn that is running. */
export interface RunningTurn {
  readonly turn: Turn
  readonly controller: AbortController
  /** Of `limits.time`, where the turn has one. */
  clock?: Countdown | undefined
  /** That one, and those of the tools that run. */
  readonly clocks: Set<Countdown>
  requests: number
  context?: RunContext | undefined
  /** The context's size, counted once. */
  weight?: ContextWeight | undefined
  /** The terms of the last budget decision, for `step/end`. */
  weighed?: { readonly budget?: Readonly<Record<string, number>> }
}

/** What the loop needs of the agent whose turns it runs. */
export interface TurnHost {
  readonly id: string
  /** Searched for plugins that are still loading. */
  readonly root: Context
  readonly session: Session
  readonly settings: Settings
  /** Which of the app's tools the session has; all where it does not say. */
  readonly choice: ToolChoice | undefined
  readonly seams: Seams
  readonly reporter: Reporter
  readonly departures: Departures
  readonly llm: AdapterRegistry
  readonly tools: ToolRegistry
  readonly system: SystemRegistry
  readonly header: InstanceHeader
  readonly contexts: RunContexts
  readonly budget: RequestBudget | undefined
  readonly questions: Questions
  readonly blobs: Pick<AdapterTools, 'blob'>
  running: RunningTurn | undefined
  /** Reads what tools give back. */
  readonly outcomes: Outcomes
  /** Sends followers of the turn what the log does not hold. */
  tell(event: ToolStart | ProgressPiece): void
  /** The agent as a plugin sees it. */
  view(plugin: string): Agent
  /** Attaches the prompt's handle to the turn; creates one where no prompt woke it. */
  follow(prompt: number | undefined): void
  /** What the answer to a prompt must be. */
  outputOf(prompt: number): Parameters | undefined
  /** Takes back a prompt that waits. */
  withdraw(prompt: number, reason: string): void
  /** Ends the turn, in the same frame as the last check of what is owed. {@link settleTurn} resolves its handles once that is durable. */
  endTurn(reason: TurnReason, error?: ErrorRecord): void
  /** Leaves the turn open in the log, for a resume to go on with. */
  parkTurn(why: ParkedError): void
  settleTurn(): void
}
