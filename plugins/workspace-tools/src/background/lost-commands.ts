import { basename, dirname, join } from 'node:path'
import type { Agent } from '@headrace/agent'
import { callsOf, textOf } from '@headrace/message'
import { outputFolder } from './output-file.ts'

/** A command that the history tells of, and this agent does not have. */
export interface LostCommand {
  readonly id: string
  /** Made from the ids alone: whatever a log says, no other file is read or named. */
  readonly file: string
  /** One of the session that this one was forked from, where it may still run; else it ended with an earlier life of this agent. */
  readonly isOthers: boolean
}

/** What is to be said of it. */
export function lostText({ isOthers }: LostCommand): string {
  return isOthers ? 'belongs to the session that this one was forked from' : 'is gone: it ended with the former life of this agent'
}

/** What a result of `bash` says that started one. */
const STARTED = /^\[Runs in the background as (b\d{1,9}): its output goes to (.+)\]$/
/** What the last line of a result of `background` says of a finished command; what stands above it is the command's own text. */
const OVER = /(?:^|\n)\[(b\d{1,9}) (?:ended|was|is gone|belongs)[^\]\n]*\]$/
/** A session's id, as a folder has it. */
const SESSION = /^[\w.-]{1,200}$/

/**
 * Commands that the model was told run, in results that are visible, and whose end it has not seen. When an agent
 * starts, these are the commands that ended with its former life, however that ended, and in a fork those of its parent.
 */
export function lostCommands({ session }: Pick<Agent, 'session'>): ReadonlyMap<string, LostCommand> {
  const begun = new Map<string, LostCommand>()
  const isFork = session.origin?.parent !== undefined
  let inBackground: ReadonlySet<string> = new Set()
  for (const { message } of session.entries()) {
    if (message.role === 'assistant') inBackground = new Set(callsOf(message).filter(startsOne).map((call) => call.id))
    if (message.role !== 'tool') continue
    const [result] = message.content
    // Any command can print these words; only one that was to run in the background is said to do so.
    if (result.name === 'bash' && inBackground.has(result.id)) {
      const [, id, file] = STARTED.exec(textOf(result)) ?? []
      if (id === undefined || file === undefined) continue
      const theirs = basename(dirname(file))
      const isOthers = isFork && theirs !== session.id && SESSION.test(theirs)
      begun.set(id, { id, file: join(outputFolder(isOthers ? theirs : session.id), `${id}.log`), isOthers })
    } else if (result.name === 'background') {
      const id = OVER.exec(textOf(result))?.[1]
      if (id !== undefined) begun.delete(id)
    }
  }
  return begun
}

function startsOne({ name, arguments: text }: { readonly name: string; readonly arguments: string }): boolean {
  if (name !== 'bash') return false
  try {
    return (JSON.parse(text) as { readonly background?: unknown } | null)?.background === true
  } catch {
    return false
  }
}
