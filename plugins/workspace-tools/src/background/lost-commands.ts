import { basename, dirname } from 'node:path'
import type { Agent } from '@headrace/agent'
import { textOf } from '@headrace/message'

/** A command that the history tells of, and this agent does not have. */
export interface LostCommand {
  readonly id: string
  readonly file: string
  /** One of the session that this one was forked from, where it may still run; else it ended with an earlier life of this agent. */
  readonly isOthers: boolean
}

/** What is to be said of it. */
export function lostText({ isOthers }: LostCommand): string {
  return isOthers ? 'belongs to the session that this one was forked from' : 'is gone: it ended with the former life of this agent'
}

/** What a result of `bash` says that started one. */
const STARTED = /^\[Runs in the background as (b\d+): its output goes to (.+)\]$/
/** What a result of `background` says at its end of a finished command. */
const OVER = /\[(b\d+) (?:ended|was|is gone|belongs)[^\]]*\]$/

/**
 * Commands that the model was told run, in results that are visible, and whose end it has not seen. When an agent
 * starts, these are the commands that ended with its former life, however that ended, and in a fork those of its parent.
 */
export function lostCommands({ session }: Pick<Agent, 'session'>): ReadonlyMap<string, LostCommand> {
  const begun = new Map<string, LostCommand>()
  const isFork = session.origin?.parent !== undefined
  for (const { message } of session.entries()) {
    if (message.role !== 'tool') continue
    const [result] = message.content
    if (result.name === 'bash') {
      const [, id, file] = STARTED.exec(textOf(result)) ?? []
      if (id !== undefined && file !== undefined) begun.set(id, { id, file, isOthers: isFork && basename(dirname(file)) !== session.id })
    } else if (result.name === 'background') {
      const id = OVER.exec(textOf(result))?.[1]
      if (id !== undefined) begun.delete(id)
    }
  }
  return begun
}
