import { isAbsolute } from 'node:path'
import type { Agent } from '@headrace/agent'
import type { Seat } from '@headrace/desk'
import { type JsonObject, callsOf } from '@headrace/message'
import type { SessionCard, SessionEvent, Under } from '@headrace/session'
import { costOf } from '@headrace/tokens'
import type { Context } from 'cordis'
import { type Asked } from './asked.ts'
import { ClientSession, titleOf } from './client-session.ts'
import { fromClient } from './content.ts'
import { AcpError } from './error.ts'
import { type Permissions, sessionOptions, settingOf } from './session-options.ts'
import type { Handlers, Wire } from './wire.ts'

/** What the app offers a client beside its sessions. */
export interface DoorOptions {
  /** Models that a client can choose, `provider/name`, beside the one in use. */
  readonly models?: readonly string[]
}

type Params<M extends keyof Handlers> = Parameters<Handlers[M]>[0]

/** What a client asks for a session with. */
interface Asking {
  readonly cwd: string
  readonly mcpServers: readonly unknown[]
}

const NO_SERVERS = '[the MCP servers of this editor are not used; name those that you want in the app, as mcpServers of @headrace/plugin-mcp]'

/** Sessions of a page of `session/list`. */
const PAGE = 50

/** The app's sessions for one client: each that it has open is followed, and its questions are put to the client. */
export class Door implements Handlers {
  private readonly ctx: Context
  private readonly wire: Wire
  private readonly models: readonly string[]
  private readonly sessions = new Map<string, ClientSession>()
  private readonly attending = new Map<string, () => void>()
  private readonly permissions = new Map<string, Permissions>()

  constructor(ctx: Context, wire: Wire, { models = [] }: DoorOptions) {
    this.ctx = ctx
    this.wire = wire
    this.models = models
    // In front of every rule: it allows what any of them asks for, and nothing that one denies.
    ctx.on('tools/pre-execute', async (agent, _turn, _call, next) => {
      const decision = await next()
      const isAsked = typeof decision === 'object' && 'ask' in decision
      return isAsked && this.permissions.get(agent.id) === 'allow' ? { allow: 'permissions: allow' } : decision
    }, { prepend: true })
    ctx.on('session/event', (agent, event) => this.event(agent, event))
  }

  async open({ cwd, mcpServers }: Params<'open'>): Promise<Awaited<ReturnType<Handlers['open']>>> {
    if (!isAbsolute(cwd)) throw new AcpError(`${JSON.stringify(cwd)} is no absolute path`)
    const seat = await this.ctx.desk.open({ cwd })
    const session = await this.join(seat, { cwd, mcpServers }, false)
    return { sessionId: seat.id, configOptions: this.optionsOf(session) }
  }

  async load({ sessionId, cwd, mcpServers }: Params<'load'>): Promise<Awaited<ReturnType<Handlers['load']>>> {
    const session = await this.join(await this.ctx.desk.open(sessionId), { cwd, mcpServers }, true)
    return { configOptions: this.optionsOf(session) }
  }

  async resume({ sessionId, cwd, mcpServers = [] }: Params<'resume'>): Promise<Awaited<ReturnType<Handlers['resume']>>> {
    const session = await this.join(await this.ctx.desk.open(sessionId), { cwd, mcpServers }, false)
    return { configOptions: this.optionsOf(session) }
  }

  async list({ cwd, cursor }: Params<'list'>): Promise<Awaited<ReturnType<Handlers['list']>>> {
    const from = cursor == null ? 0 : Number(cursor)
    if (!Number.isSafeInteger(from) || from < 0) throw new AcpError(`${JSON.stringify(cursor)} is no cursor`)
    const cards: SessionCard[] = []
    let seen = 0
    for await (const card of this.ctx.desk.list(cwd == null ? {} : { cwd })) {
      // A subagent's is its agent's.
      if (card.open?.under || card.open?.cwd === undefined || card.error !== undefined) continue
      if (seen++ < from) continue
      cards.push(card)
      if (cards.length > PAGE) break
    }
    return {
      sessions: cards.slice(0, PAGE).map((card) => {
        const title = titleOf(card.title ?? card.prompt)
        const updatedAt = new Date(card.modified).toISOString()
        return { sessionId: card.id, cwd: card.open!.cwd!, updatedAt, ...(title !== undefined && { title }) }
      }),
      ...(cards.length > PAGE && { nextCursor: `${from + PAGE}` }),
    }
  }

  async close(sessionId: string): Promise<void> {
    const session = this.sessionOf(sessionId)
    this.leave(session)
    await session.seat.park()
  }

  async remove(sessionId: string): Promise<void> {
    const session = this.sessions.get(sessionId)
    if (session) this.leave(session)
    await this.ctx.desk.remove(sessionId)
  }

  async configure({ sessionId, configId, value }: Params<'configure'>): Promise<Awaited<ReturnType<Handlers['configure']>>> {
    const session = this.sessionOf(sessionId)
    const setting = settingOf(configId, value, this.optionsOf(session))
    if ('permissions' in setting) this.permissions.set(sessionId, setting.permissions)
    else {
      const agent = await session.seat.drive()
      agent.configure(setting.config)
      session.config = { ...session.config, ...setting.config }
    }
    return { configOptions: this.optionsOf(session) }
  }

  async prompt({ sessionId, prompt }: Params<'prompt'>, signal: AbortSignal): Promise<Awaited<ReturnType<Handlers['prompt']>>> {
    const session = this.sessionOf(sessionId)
    const run = session.begin()
    const cancel = (): void => run.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const input = await fromClient(prompt, { put: (bytes) => this.ctx.sessions.current.putBlob(sessionId, bytes) })
      if (run.signal.aborted) return { stopReason: 'cancelled' }
      session.post(run, input)
      return await run.result
    } finally {
      signal.removeEventListener('abort', cancel)
      await session.end(run)
    }
  }

  cancel({ sessionId }: Params<'cancel'>): void {
    this.sessions.get(sessionId)?.cancel()
  }

  /** Ends what the client has open; sessions stay, with their turns open. */
  end(): void {
    for (const session of this.sessions.values()) this.leave(session, false)
  }

  private async join(seat: Seat, { cwd, mcpServers }: Asking, replay: boolean): Promise<ClientSession> {
    const known = this.sessions.get(seat.id)
    if (known) this.leave(known, false)
    const { ctx, wire } = this
    const log = ctx.logger('headrace')
    const session = new ClientSession({
      seat, cwd, client: wire.client, capabilities: wire.capabilities,
      windowOf: (model) => ctx.llm.info(model)?.context,
      costOf: (model, usage) => costOf(usage, ctx.llm.info(model)),
      blob: (digest) => ctx.sessions.current.getBlob(seat.id, digest),
      configured: () => session.send({ sessionUpdate: 'config_option_update', configOptions: this.optionsOf(session) }),
      ended: () => undefined,
      warn: (problem) => log.warn('acp: %s', problem),
    })
    this.sessions.set(seat.id, session)
    this.attending.set(seat.id, seat.attend())
    await session.open(replay)
    // Behind the reply, which is on its way once this request's promises have settled.
    setImmediate(() => {
      session.release()
      if (mcpServers.length > 0) session.say(NO_SERVERS)
    })
    return session
  }

  private leave(session: ClientSession, isCancelling = true): void {
    const { id } = session.seat
    session.close(isCancelling)
    this.sessions.delete(id)
    this.permissions.delete(id)
    this.attending.get(id)?.()
    this.attending.delete(id)
  }

  private sessionOf(id: string): ClientSession {
    const session = this.sessions.get(id)
    if (!session) throw new AcpError(`the session ${JSON.stringify(id.slice(0, 80))} is not open; load or resume it first`)
    // Who names it has had the reply.
    session.release()
    return session
  }

  private optionsOf(session: ClientSession): ReturnType<typeof sessionOptions> {
    const { id } = session.seat
    const log = session.seat.agent?.session
    const model = session.config.model ?? log?.requestHeader()?.config.model ?? log?.origin?.config?.model
    return sessionOptions({
      config: { ...session.config, ...(model !== undefined && { model }) }, permissions: this.permissions.get(id) ?? 'ask',
    }, this.models)
  }

  /** What a session asks that works for a call of one that the client has open. */
  private event(agent: Agent, event: SessionEvent): void {
    const under = agent.session.origin?.under
    if (!under) return
    const at = this.above(under)
    if (!at) return
    if (event.type === 'question/asked') at.session.askFor(agent.id, event.seq, askedIn(agent, event), at.call)
    if (event.type === 'question/answered' || event.type === 'tool/result') at.session.closeQuestions()
  }

  /** The open session at the head of a line of sessions, and its call. */
  private above(under: Under): { readonly session: ClientSession; readonly call: Under['call'] } | undefined {
    const session = this.sessions.get(under.session)
    if (session) return { session, call: under.call }
    const next = this.ctx.agents.get(under.session)?.session.origin?.under
    return next && this.above(next)
  }
}

/** Serves a client until the line is closed, or the plugin goes. */
export function serve(ctx: Context, wire: Wire, options: DoorOptions = {}): void {
  const door = new Door(ctx, wire, options)
  const stop = wire.serve(door)
  ctx.effect(() => () => {
    stop()
    door.end()
  }, 'acp')
}

function askedIn(agent: Agent, { data }: SessionEvent<'question/asked'>): Asked {
  const { kind, question, options, schema, assistant, index } = data
  const message = agent.session.at(assistant)
  const call = message?.type === 'assistant/message' ? callsOf(message.data.message)[index] : undefined
  return {
    kind, question, whose: agent.session.title ?? agent.session.origin?.kind ?? agent.id,
    ...(options && { options }), ...(schema && { schema }),
    ...(call && kind === 'permission' && { call: { name: call.name, input: inputOf(call.arguments) } }),
  }
}

function inputOf(text: string): JsonObject {
  try {
    const input = JSON.parse(text) as unknown
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as JsonObject
  } catch {
    // As it stands, then.
  }
  return { arguments: text }
}
