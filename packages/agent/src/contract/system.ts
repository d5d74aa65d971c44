import type { Agent } from './agent.ts'

/** A section of the system prompt: who the agent is, how its tools behave; nothing about workspace, machine or day. */
export interface SystemSection {
  readonly key: string
  /** Lower stands first. Default 0. */
  readonly order?: number
  /** Synchronous: it is read in the frame of the boundary. Blank text is left out. */
  readonly text: string | ((agent: Agent) => string)
}
