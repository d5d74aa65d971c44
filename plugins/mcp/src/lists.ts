import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from '@modelcontextprotocol/client'
import { type JsonObject, messageOf } from '@headrace/message'
import { oneLine } from '@headrace/files'
import { McpError } from './error.ts'
import { type Told, bounded, fieldsOf, readPrompts, readTools } from './told.ts'

const MAX_PAGES = 100
const MAX_ITEMS = 10_000
/**
 * Milliseconds before a read of lists that change all the time: none at first, then the second, doubled each time up to
 * the last.
 */
const SPACING = [0, 1_000, 60_000] as const
/** A list without changes for so many milliseconds has settled. */
const SETTLED = 120_000

interface Source {
  readonly limits: { readonly maxTools: number; readonly maxDescription: number; readonly maxInstructions: number }
  /** @throws McpError, SdkError */
  request(method: string, params: JsonObject): Promise<unknown>
  warn(problem: string): void
}

/** A server's lists, read when it is connected and when it says that one changed; `tell` gets all of them. */
export function readLists(source: Source, tell: (told: Told) => void) {
  let told: Told | undefined
  let reading: Promise<void> | undefined
  let connecting = false
  const dirty = new Set<'tools' | 'prompts'>()
  let pacing = paced()
  const tools = async () => readTools(await pages(source, 'tools/list', 'tools'), source.limits, source.warn)
  const prompts = async () => readPrompts(await pages(source, 'prompts/list', 'prompts'))

  /** Reads the lists that are said to have changed. Lists that change all the time are read less and less often. */
  const follow = async (): Promise<void> => {
    while (dirty.size > 0 && told && !connecting) {
      const kinds = [...dirty]
      dirty.clear()
      try {
        const changed = { ...(kinds.includes('tools') && { tools: await tools() }), ...(kinds.includes('prompts') && { prompts: await prompts() }) }
        tell(told = { ...told, ...changed })
      } catch (error) {
        source.warn(`its list could not be read again: ${oneLine(messageOf(error))}; the last one stands`)
      }
    }
  }

  const begin = (): void => {
    const mine: Promise<void> = (reading ?? Promise.resolve()).then(follow).finally(() => {
      if (reading === mine) reading = undefined
    })
    reading = mine
  }

  return {
    /** @throws McpError, SdkError */
    async readAll(client: Client): Promise<void> {
      const can = client.getServerCapabilities() ?? {}
      const instructions = client.getInstructions()?.toWellFormed().trim()
      dirty.clear()
      // What changes behind a start belongs to it.
      pacing = paced()
      connecting = true
      try {
        told = {
          tools: can.tools ? await tools() : [],
          prompts: can.prompts ? await prompts() : [],
          resources: can.resources !== undefined,
          ...(instructions && { instructions: bounded(instructions, source.limits.maxInstructions) }),
        }
      } finally {
        connecting = false
      }
      tell(told)
      // Some servers add tools once they know the client's capabilities, while their list is read.
      if (dirty.size > 0) begin()
    },

    changed(kind: 'tools' | 'prompts'): void {
      if (dirty.has(kind)) return
      dirty.add(kind)
      if (connecting) return
      const wait = pacing()
      if (wait <= 0) begin()
      else void pause(wait, undefined, { ref: false }).then(begin)
    },

    get reading(): Promise<void> | undefined {
      return reading
    },
  }
}

/** Milliseconds to wait until the next reading; called for each. */
function paced(): () => number {
  let [spacing, readAt] = [0, -Infinity]
  return () => {
    const now = performance.now()
    spacing = now - readAt > SETTLED ? SPACING[0] : Math.min(SPACING[2], Math.max(SPACING[1], spacing * 2))
    const wait = readAt + spacing - now
    readAt = Math.max(now, readAt + spacing)
    return wait
  }
}

/** All pages of a list. @throws McpError for an invalid list, or an endless one */
async function pages(source: Source, method: string, key: string): Promise<readonly unknown[]> {
  const items: unknown[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && items.length < MAX_ITEMS; page++) {
    const result = fieldsOf(await source.request(method, cursor === undefined ? {} : { cursor }))
    const part = result[key]
    if (!Array.isArray(part)) throw new McpError('LIST_INVALID', `${method} gave no list`)
    items.push(...part as readonly unknown[])
    const next = result.nextCursor
    if (typeof next !== 'string' || next === cursor) return items
    cursor = next
  }
  source.warn(`its ${key} go on for more than ${MAX_PAGES} pages or ${MAX_ITEMS} items; the others are left out`)
  return items.slice(0, MAX_ITEMS)
}
