import type { Context } from 'cordis'
import type { CallConfig } from '@headrace/message'
import type { Session, SessionStore, ToolChoice } from '@headrace/session'
import type { RequestBudget } from '@headrace/tokens'
import type { ContextProvider } from '../contract/options.ts'
import type { Settings } from '../contract/settings.ts'
import type { Departures } from '../seams/listener-owner.ts'
import type { AdapterRegistry } from '../turn/adapters.ts'
import type { Attendance } from '../turn/attendance.ts'
import type { SystemRegistry } from '../turn/system-registry.ts'
import type { ToolRegistry } from '../turn/tool-registry.ts'
import type { Living } from './clocks.ts'
import type { TurnSlots } from './turn-slots.ts'

/** What an app's agents share. */
export interface Shared {
  /** Of the service: where seams are dispatched. */
  readonly ctx: Context
  readonly llm: AdapterRegistry
  readonly tools: ToolRegistry
  readonly system: SystemRegistry
  readonly departures: Departures
  readonly slots: TurnSlots
  readonly attendance: Attendance
  /** The agents that live in this process, by session. */
  readonly live: ReadonlyMap<string, Living>
}

/** What an agent is made of. */
export interface CoreOptions extends Shared {
  /** Of whoever created it. */
  readonly home: Context
  readonly session: Session
  readonly store: SessionStore
  readonly settings: Settings
  /** Which of the app's tools it has. */
  readonly choice: ToolChoice | undefined
  readonly cwd: string
  /** Config defaults. */
  readonly defaults: Partial<CallConfig>
  /** Beats the log on this instance's first request (L6). */
  readonly explicit: Partial<CallConfig>
  /** Asked once at every `turn/start`; what a prompt brings itself wins. */
  readonly context?: ContextProvider | undefined
  readonly budget?: RequestBudget | undefined
  /** It takes all letters, not only answers to its questions. */
  readonly mail: boolean
  /** True for an existing log: its queue waits for `wake()`. */
  readonly resumed: boolean
  /** True for a log copied from another session: it sends that session's prefix. */
  readonly forked: boolean
}
