import { messageOf, textOf } from '@headrace/message'
import type { SessionInfo, SessionStore } from '@headrace/session'
import { DONE } from './error.ts'
import { type StoreOptions, storeOf } from './store.ts'
import type { Terminal } from './terminal.ts'
import { brief } from './visible.ts'

export interface SessionsOptions extends StoreOptions {
  readonly json?: true
}

/** `headrace sessions`: newest first. A log that cannot be read stands in the list with its error. */
export async function sessions({ json, ...where }: SessionsOptions, terminal: Terminal): Promise<number> {
  const store = await storeOf(where)
  let some = false
  for await (const info of store.list()) {
    some = true
    const { prompt, error = info.error } = await firstPrompt(store, info)
    const { id, modified, size, open } = info
    if (json) terminal.json({ id, modified, size, ...(open && { cwd: open.cwd, parent: open.parent }), prompt, error })
    else terminal.print([id, shownTime(modified), shownSize(size), open?.cwd ?? '-', error === undefined ? brief(prompt ?? '(no prompt yet)', 80) : `! ${brief(error, 300)}`].join('  '))
  }
  if (!some && !json) terminal.note('there is no session yet; begin one with: headrace run "<prompt>"')
  return DONE
}

/** `headrace sessions rm`. */
export async function removeSession(id: string, where: StoreOptions, terminal: Terminal): Promise<number> {
  await (await storeOf(where)).remove(id)
  terminal.note(`removed session ${id}`)
  return DONE
}

async function firstPrompt(store: SessionStore, { id, error }: SessionInfo): Promise<{ readonly prompt?: string; readonly error?: string }> {
  if (error !== undefined) return { error }
  try {
    for await (const batch of store.load(id)) {
      for (const event of batch) if (event.type === 'prompt/queued') return { prompt: textOf(event.data.input) }
    }
    return {}
  } catch (damaged) {
    return { error: messageOf(damaged) }
  }
}

function shownTime(time: number): string {
  const date = new Date(time)
  const two = (number: number): string => String(number).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

export function shownSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
