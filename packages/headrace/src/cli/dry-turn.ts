import type { Context } from 'cordis'
import type {} from '@headrace/agent'
import { originalOf } from '@headrace/cordis'
import type { Chunk } from '@headrace/message'
import { MemoryStore, type SessionEvent } from '@headrace/session'
import { CommandError } from './error.ts'
import { type Explanation, explainRequest } from './explanation.ts'
import type { DispatchEvent } from './request-choice.ts'

/** A provider that answers nothing. */
const DRY = 'dry'

/**
 * The first request of an agent in this app, as its plugins make it, taken apart. Nothing is sent: the outermost listener of
 * `llm/stream` answers. Nothing is kept: the log is in memory, in the place of the app's store, so the app is good for nothing else then.
 *
 * @throws CommandError where the app makes no request
 */
export async function dryTurn(ctx: Context, cwd: string): Promise<Explanation> {
  Object.defineProperty(originalOf(ctx.sessions), 'current', { value: new MemoryStore() })
  ctx.llm.adapter(DRY, { stream: answer })
  ctx.on('llm/stream', () => answer(), { prepend: true })
  const agent = await ctx.agents.create({ cwd, model: `${DRY}/model` })
  try {
    const { error } = await agent.prompt('.').result
    const events: readonly SessionEvent[] = [...agent.session.events()]
    const first = events.find((event): event is DispatchEvent => event.type === 'request/dispatch')
    if (!first) throw new CommandError(`an agent of this app makes no request: ${error?.message ?? 'its turn was stopped'}`)
    return explainRequest(events, first)
  } finally {
    await agent.dispose()
  }
}

async function* answer(): AsyncGenerator<Chunk> {
  yield { type: 'text', text: '.' }
  yield { type: 'finish', reason: 'stop' }
}
