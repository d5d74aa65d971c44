import { strict } from '@headrace/config'
import z from 'schemastery'

/** Config of the plugin. */
export interface Config {
  /** How deep subagents may be nested: at 1 a subagent has none of its own. */
  readonly depth: number
  /** Subagents of one agent that run at once; further calls wait in order. */
  readonly atOnce: number
  /** Calls of one turn that may create or continue a subagent; further ones are refused. */
  readonly perTurn: number
  /** Limits of each turn of a subagent; of these and its agent's, the smaller one counts. */
  readonly limits: Limits
  /** `provider/name` of subagents whose file names none. Default: their agent's model. */
  readonly model?: string
  /** Short names of models in files: `{ haiku: 'anthropic/claude-haiku-4-5' }`. */
  readonly models: Record<string, string>
  /** Folders with files of agents, before all others: absolute, below `~/`, or relative to the agent's folder. */
  readonly roots: string[]
  /**
   * Whether the project's agents are read: `.headrace/agents` and `.claude/agents`, from the agent's folder up to the
   * project's root.
   */
  readonly project: boolean
  /** Whether the user's count. */
  readonly user: boolean
  /** Names that mark the project's root. */
  readonly projectMarkers: string[]
  /** Milliseconds of one call. */
  readonly timeout: number
}

/** Limits of a subagent's turn, like `limits` of an agent. */
export interface Limits {
  readonly steps: number
  readonly requests: number
  /** Milliseconds; 0 means no limit. */
  readonly time: number
}

const number = (value: number, min = 1) => z.natural().min(min).default(value)

export const Config: z<Partial<Omit<Config, 'limits'>> & { limits?: Partial<Limits> }, Config> = strict(z.object({
  depth: number(1).description('How deep subagents stand in each other; at 1 a subagent has none of its own.'),
  atOnce: number(8).description('Subagents of one agent that run at once; further calls wait.'),
  perTurn: number(50).description('Calls of one turn; further ones are refused.'),
  limits: z.object({ steps: number(50), requests: number(100), time: number(0, 0) }).description('Bounds of each turn of a subagent.'),
  model: z.string().description('provider/name of subagents whose file names none; else what their agent has.'),
  models: z.dict(z.string()).default({}).description('What short names of models in files mean.'),
  roots: z.array(z.string()).default([]).description('Folders with files of agents, before all others.'),
  project: z.boolean().default(true).description('Whether .headrace/agents and .claude/agents of the project count.'),
  user: z.boolean().default(true).description('Whether the user\'s count.'),
  projectMarkers: z.array(z.string()).default(['.git']).description('Names that mark the project\'s root.'),
  timeout: number(3_600_000).description('Milliseconds of one call.'),
}))
