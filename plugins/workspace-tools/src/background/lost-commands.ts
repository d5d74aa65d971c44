import type { Agent } from '@headrace/agent'
import { textOf } from '@headrace/message'

/** A command of an earlier life of the agent, which ended with it, or of the session that this one was forked from. */
export interface LostCommand {
  readonly id: string
  readonly file: string
}

/** What a result of `bash` says that started one. */
const STARTED = /^\[Runs in the background as (b\d+): its output goes to (.+)\]$/
/** What a result of `background` says at its end of a finished command. */
const OVER = /\[(b\d+) (?:ended|was|is gone)[^\]]*\]$/

/**
 * Commands that the model was told run, in results that are visible, and whose end it has not seen. When an agent
 * starts, these are the commands that ended with its former life, however that ended.
 */
export function lostCommands({ session }: Pick<Agent, 'session'>): ReadonlyMap<string, LostCommand> {
  const begun = new Map<string, LostCommand>()
  for (const { message } of session.entries()) {
    if (message.role !== 'tool') continue
    const [result] = message.content
    if (result.name === 'bash') {
      const [, id, file] = STARTED.exec(textOf(result)) ?? []
      if (id !== undefined && file !== undefined) begun.set(id, { id, file })
    } else if (result.name === 'background') {
      const id = OVER.exec(textOf(result))?.[1]
      if (id !== undefined) begun.delete(id)
    }
  }
  return begun
}
