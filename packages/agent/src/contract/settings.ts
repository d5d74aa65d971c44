import type { ModelRow } from '@headrace/tokens'
import z from 'schemastery'
import { checkOptions } from './check-options.ts'

/** What bounds a turn. Reached, the turn ends with the reason `limit`. */
export interface Limits {
  /** Steps of a turn. */
  readonly steps: number
  /** Dispatches of a turn, retries included. */
  readonly requests: number
  /** Milliseconds of a turn; 0 is without a limit. */
  readonly time: number
  /** UTF-16 units of an answer. */
  readonly answer: number
  /** UTF-16 units of text in a tool's result; the middle of more is cut, with a visible note. */
  readonly toolOutput: number
  /** UTF-16 units of the JSON of a result's `details`; what is more is left out, and said. */
  readonly toolDetails: number
  /** Prompts that may wait. */
  readonly queue: number
  /** UTF-16 units of an event's JSON; a larger one is refused before anything of it is written. */
  readonly event: number
}

/** The config of the agent plugin, with all defaults filled in. */
export interface Settings {
  readonly limits: Limits
  /** Turns that run at once in the app; others wait in order, and those that wait for a subagent's do not lock each other out. */
  readonly concurrentTurns: number
  /** Milliseconds a listener of a seam may take. */
  readonly seamTimeout: number
  /** Milliseconds an instance's first turn waits for plugins that are loading. */
  readonly loadTimeout: number
  /** Milliseconds that a tool without a timeout of its own may take. */
  readonly toolTimeout: number
  /** Milliseconds a tool has to finish after its signal was aborted. */
  readonly grace: number
  /**
   * A lost contribution, or a broken listener of `tools/post-execute`, is an error that ends the step; and each request
   * is checked against a second fold of the log. Default: unless `NODE_ENV` is `production`.
   */
  readonly strict: boolean
  /**
   * Says nothing on stderr. Otherwise warnings and errors of Cordis' log are a line each there, while the app has no
   * exporter of its own.
   */
  readonly quiet: boolean
  /**
   * Windows and prices of models by `provider/name`, in front of the known ones. A row takes the place of the one of its model, as a
   * whole; rates are US dollars for a million tokens.
   */
  readonly models: Readonly<Record<string, ModelRow>>
  /** `false`: nothing is known of models but `models`. */
  readonly knownModels: boolean
}

/** The schema of `limits`, with its defaults. */
export const LimitsSchema: z<Partial<Limits>, Limits> = z.object({
  steps: z.natural().min(1).default(100),
  requests: z.natural().min(1).default(200),
  time: z.natural().default(0),
  answer: z.natural().min(1).default(4_000_000),
  toolOutput: z.natural().min(100).default(200_000),
  toolDetails: z.natural().min(100).default(100_000),
  queue: z.natural().min(1).default(1_000),
  event: z.natural().min(1_000).default(32_000_000),
})

/** The schema of the agent plugin's config, with its defaults. */
export const SettingsSchema: z<Partial<Omit<Settings, 'limits'>> & { limits?: Partial<Limits> }, Settings> = z.object({
  limits: LimitsSchema,
  concurrentTurns: z.natural().min(1).default(100),
  seamTimeout: z.natural().min(1).default(30_000),
  loadTimeout: z.natural().default(5_000),
  toolTimeout: z.natural().min(1).default(600_000),
  grace: z.natural().default(2_000),
  strict: z.boolean().default(process.env.NODE_ENV !== 'production'),
  quiet: z.boolean().default(false),
  models: z.dict(z.any()),
  knownModels: z.boolean().default(true),
})

/** Rejects unknown keys, which the schemas would keep silently. @throws AgentError */
export function checkSettings(settings: object): void {
  checkOptions('@headrace/agent', settings, Object.keys(SettingsSchema.dict!))
}

/** @throws AgentError, and the schema's own error for a value that is none */
export function toLimits(limits: Partial<Limits>): Limits {
  checkOptions('limits', limits, Object.keys(LimitsSchema.dict!))
  return LimitsSchema(limits)
}
