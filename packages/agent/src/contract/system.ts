import type { Agent } from './agent.ts'
import type { Keyed } from './keyed.ts'

/**
 * A section of the system prompt: who the agent is, how its tools behave; nothing about workspace, machine or day. Its content is a text,
 * or a function that gives one at once: it is read in the frame of the boundary. Blank text is left out.
 */
export type SystemSection = Keyed<string | ((agent: Agent) => string)>
