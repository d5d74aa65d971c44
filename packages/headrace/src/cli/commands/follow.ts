import type { Agent } from '@headrace/agent'
import type { RunningCommand } from '@headrace/plugin-workspace-tools'
import type { SessionEvent } from '@headrace/session'
import type { Context } from 'cordis'
import { type Attachment, putAttachment } from '../base/attachment.ts'
import { type Summary, Tally } from '../base/tally.ts'
import { brief } from '../base/text.ts'
import type { Terminal } from '../show/terminal.ts'
import type { Audience } from '../show/transcript.ts'

/** What an agent is given to do. */
export interface Work {
  readonly prompt: string | undefined
  readonly attachments?: readonly Attachment[]
  /** The session it goes on with. */
  readonly found: { readonly fold: { readonly length: number } } | undefined
}

export interface Following {
  readonly audience: Audience
  readonly terminal: Terminal
  /** Each ends the run. */
  readonly stops: readonly AbortSignal[]
  /** False: commands in the background end with the run, also those that were to wake the agent. */
  readonly waits: boolean
}

/** Gives an agent its work, and follows it until nothing is left to do, nor to be woken for. */
export async function follow(
  app: Context, agent: Agent, { prompt, attachments = [], found }: Work, following: Following,
): Promise<Summary> {
  const { audience, terminal, stops } = following
  const tally = new Tally(agent.id, (model) => app.llm.info(model), app.sessions.current.location)
  const tell = (event: SessionEvent): void => {
    tally.add(event)
    audience.event(event)
  }
  // Open calls are closed when the session is resumed: the person must see which outcomes are unknown, as the model does.
  if (found) for (const event of [...agent.session.events(found.fold.length)]) tell(event)
  agent.session.on('event', tell)
  agent.session.on('chunk', (chunk) => audience.chunk(chunk))
  agent.session.on('piece', (piece) => audience.piece(piece))
  app.on('session/event', (other, event) => {
    if (event.type !== 'tool/result' || event.data.outcome !== 'denied' || other.id === agent.id || !other.session.origin?.under) return
    tally.addBelow(event)
    audience.below(other.id, event)
  })
  let ended: readonly RunningCommand[] = []
  // Disposed, so that prompts behind the cancelled turn wait for --continue.
  const stop = (signal: AbortSignal) => (): void => {
    ended = runningOf(app, agent)
    agent.cancel(reasonOf(signal))
    void agent.dispose()
  }
  const stopping = stops.map((signal) => [signal, stop(signal)] as const)
  for (const [signal, listener] of stopping) signal.addEventListener('abort', listener, { once: true })
  const parts = await Promise.all(attachments.map((attachment) => putAttachment(agent, attachment)))
  const handle = prompt === undefined ? undefined : agent.prompt(parts.length === 0 ? prompt : [...parts, prompt])
  if (!handle) agent.wake()
  const stopped = stops.find((signal) => signal.aborted)
  if (stopped) stop(stopped)()
  const isCut = await untilDone(app, agent, following)
  const lost = { code: 'TURN_LOST', message: 'the turn did not end; its session took no more events' }
  const result = handle ? await handle.result : { reason: 'error' as const, error: lost }
  for (const [signal, listener] of stopping) signal.removeEventListener('abort', listener)
  if (ended.length === 0) ended = runningOf(app, agent)
  await agent.dispose()
  for (const { id, command } of ended) terminal.warn(`headrace: ${id} was ended with this run: ${brief(command, 80)}`)
  const summary = tally.summary(result)
  if (!isCut || summary.reason !== 'done') return summary
  return { ...summary, reason: 'cancelled', error: { code: 'CANCELLED', message: reasonOf(stops.find(({ aborted }) => aborted)) } }
}

/** Waits for the agent, and for commands in the background that are to wake it. True where only those were left at a stop. */
async function untilDone(app: Context, agent: Agent, { audience, stops, waits }: Following): Promise<boolean> {
  let told = ''
  for (;;) {
    await agent.idle()
    const { length } = agent.session
    const awaited = waits ? runningOf(app, agent).filter(({ wake }) => wake !== undefined) : []
    if (stops.some(({ aborted }) => aborted)) return false
    if (awaited.length === 0) {
      // One that ended just now may have woken the agent.
      await agent.idle()
      if (agent.session.length === length) return false
      continue
    }
    const ids = awaited.map(({ id }) => id).join()
    if (ids !== told) audience.waits(awaited)
    told = ids
    if (await firstOf(agent, awaited, stops) === 'stopped') return true
  }
}

/** Until one of the commands has ended, the agent was woken, or the run is stopped. */
function firstOf(agent: Agent, awaited: readonly RunningCommand[], stops: readonly AbortSignal[]): Promise<'stopped' | undefined> {
  return new Promise((resolve) => {
    const off = agent.session.on('event', () => end())
    const stopped = (): void => end('stopped')
    const end = (why?: 'stopped'): void => {
      off()
      for (const signal of stops) signal.removeEventListener('abort', stopped)
      resolve(why)
    }
    for (const signal of stops) signal.addEventListener('abort', stopped, { once: true })
    void Promise.race(awaited.map(({ over }) => over)).then(() => end())
  })
}

function runningOf(app: Context, agent: Agent): readonly RunningCommand[] {
  return app.bail('background/running', agent) ?? []
}

function reasonOf(signal: AbortSignal | undefined): string {
  return typeof signal?.reason === 'string' ? signal.reason : 'its output was closed'
}
