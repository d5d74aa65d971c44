import type {} from '@headrace/agent'
import type { Context } from 'cordis'
import { strict } from '@headrace/config'
import z from 'schemastery'

// Always signs as a part of the set, however it is loaded: `headrace/instructions`.
export const name = 'headrace'
export const inject = ['system']

/** Default instructions: who the agent is. Nothing about workspace, machine or day, which have other channels. */
export const INSTRUCTIONS = `You are a coding agent. You work in a person's project, with the tools you are given.

Look before you change anything. Change as little as the task needs, in the style of what is there. When you have changed code, run what the project has to check it, and read the result. A tool result that says its outcome is unknown may have had its effect: look before you do it again. When you are done, say plainly what you did, and what you could not do.`

/** Config of the section. */
export interface Config {
  /** The section of the system prompt. */
  readonly text: string
}

export const Config: z<Partial<Config>, Config> = strict(z.object({
  text: z.string().default(INSTRUCTIONS).description('Who the agent is: the first section of the system prompt.'),
}))

/** Adds the instructions, before all other sections. */
export async function apply(ctx: Context, { text }: Config): Promise<void> {
  ctx.system.section({ key: 'instructions', order: -100, content: text })
}
