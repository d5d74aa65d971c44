import type { HttpBindings } from '@hono/node-server'
import { type Context as HttpContext, Hono } from 'hono'
import type { AgentHost } from './agent-host.ts'
import type { Config } from './config.ts'
import { STREAM_HEADERS, eventStream, feedMessages, turnMessages } from './event-stream.ts'
import { Feed } from './feed.ts'
import type { Routes } from './http.ts'
import { Problem, problemOf } from './problem.ts'
import { promptIn } from './prompt-body.ts'
import { Users } from './users.ts'

interface Env {
  readonly Bindings: HttpBindings
  readonly Variables: { user: string }
}

/** The HTTP side of an {@link AgentHost}. */
export function agentRoutes(host: AgentHost, config: Config): Routes {
  const app = new Hono<Env>()
  const users = new Users(config.users)
  const streams = new Map<string, number>()
  app.onError((error) => {
    const problem = problemOf(error)
    if (!problem) throw error
    return problem.response
  })
  addHealth(app, host)
  app.use('/sessions/*', async (c, next) => {
    const user = users.of(c.req.header('authorization'))
    if (user === undefined) throw new Problem(401, 'UNAUTHORIZED', 'send a token that is known: Authorization: Bearer …')
    c.set('user', user)
    await next()
  })

  app.get('/sessions', async (c) => c.json({ sessions: await host.list(c.var.user) }))
  app.post('/sessions', async (c) => c.json({ id: await host.create(c.var.user) }, 201))
  app.post('/sessions/:id/turns', async (c) => {
    const prompt = await promptIn(c.req.raw, config)
    const handle = await host.prompt(c.var.user, c.req.param('id'), prompt)
    // A reader that goes away does not end the turn: its events are in the log.
    return eventStream(turnMessages(handle), { ...config, cut: cutOf(c), over: () => undefined })
  })
  app.get('/sessions/:id/events', async (c) => {
    const { user } = c.var
    const from = firstSeq(c.req.header('last-event-id'), c.req.query('from'))
    const seat = await host.open(user, c.req.param('id'))
    // A HEAD response's body is dropped unread, so a stream would never end.
    if (c.req.method === 'HEAD') return c.body(null, 200, STREAM_HEADERS)
    const open = streams.get(user) ?? 0
    if (open >= config.streamsPerUser) throw new Problem(429, 'TOO_MANY_STREAMS', `you have ${open} open streams; close one`, 5)
    streams.set(user, open + 1)
    const done = seat.use()
    const stop = new AbortController()
    const gone = (): void => stop.abort()
    seat.gone.signal.addEventListener('abort', gone)
    if (seat.gone.signal.aborted) gone()
    const over = (): void => {
      stop.abort()
      seat.gone.signal.removeEventListener('abort', gone)
      streams.set(user, streams.get(user)! - 1)
      done()
    }
    const feed = new Feed(seat.agent.session, from, config.pieces)
    return eventStream(feedMessages(feed.read(stop.signal, c.req.query('follow') !== 'false')), { ...config, cut: cutOf(c), over })
  })
  app.delete('/sessions/:id/turns/current', async (c) => {
    const { agent } = await host.open(c.var.user, c.req.param('id'))
    if (!agent.turn) throw new Problem(404, 'NO_TURN', 'no turn runs in this session')
    agent.cancel('cancelled by its user')
    return c.body(null, 204)
  })
  return app as unknown as Routes
}

/** `/health` says whether to send work here, `/health/live` whether the process is alive. */
function addHealth(app: Hono<Env>, host: AgentHost): void {
  app.get('/health/live', (c) => c.json({ live: true }))
  app.get('/health', (c) => {
    const { draining, running, sessions } = host
    return c.json({ live: true, ready: !draining, draining, turns: running, sessions }, draining ? 503 : 200)
  })
}

/** Where to start: after `Last-Event-ID` of a reader that reconnects, else where the query says. @throws Problem */
function firstSeq(last: string | undefined, from: string | undefined): number {
  for (const text of [last, from]) {
    if (text !== undefined && !/^\d{1,15}$/.test(text)) throw new Problem(400, 'SEQ_INVALID', 'Last-Event-ID and from are the seq of an event: 0, 1, 2, …')
  }
  return last === undefined ? Number(from ?? 0) : Number(last) + 1
}

function cutOf(c: HttpContext<Env>): () => void {
  return () => void c.env.outgoing.destroy()
}
