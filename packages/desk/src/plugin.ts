import { setMaxListeners } from 'node:events'
import { checkOption, checkOptions } from '@headrace/agent/internal'
import { strict } from '@headrace/config'
import type { ListFilter, SessionCard } from '@headrace/session'
import { type Context, Service } from 'cordis'
import z from 'schemastery'
import { Desk } from './desk.ts'
import type { DeskService, OpenOptions, Seat, SeatForkOptions, SeatRequest } from './seat.ts'
import { SeatView } from './seat-view.ts'

declare module 'cordis' {
  interface Context {
    desk: DeskService
  }
}

export const name = 'desk'
export const inject = ['agents', 'sessions']

/** Config of the desk, with all defaults filled in. */
export interface Config {
  /** Minutes without anything to do after which a session is parked. */
  readonly idle: number
  /** Minutes that providers keep a prompt in their cache: a session is not parked before. */
  readonly cache: number
}

export const Config: z<Partial<Config>, Config> = strict(z.object({
  idle: z.number().min(0).default(10).description('Minutes without anything to do after which a session is parked.'),
  cache: z.number().min(0).default(5).description('Minutes that providers keep a prompt in their cache: a session is not parked before.'),
}))

const MINUTE = 60_000

/** Loads `ctx.desk`. */
export async function apply(ctx: Context, config: Config): Promise<void> {
  await ctx.plugin(deskService(), config)
}

/** The service; what it drives sessions with stays in this closure (L14). */
function deskService(): new (ctx: Context, config: Config) => Service & DeskService {
  // Set by the running fiber; each class made here has one fiber.
  let desk: Desk
  return class DeskOfApp extends Service implements DeskService {
    static override readonly name = name
    static inject = inject

    constructor(ctx: Context, { idle, cache }: Config) {
      super(ctx, 'desk')
      const end = new AbortController()
      // One a follower.
      setMaxListeners(0, end.signal)
      desk = new Desk({ ctx, idle: Math.max(idle, cache) * MINUTE, closing: end.signal, store: () => ctx.sessions.current })
      ctx.effect(() => () => end.abort(), 'ctx.desk')
    }

    async open(session: SeatRequest, options: OpenOptions = {}): Promise<Seat> {
      if (typeof session !== 'string') checkOptions('desk.open', session, ['id', 'cwd', 'model', 'title', 'config'])
      checkOptions('desk.open', options, ['setup', 'turn', 'drive'])
      checkOption('desk.open', options.setup === undefined || typeof options.setup === 'function', 'has a setup that is a function of the agent')
      return desk.open(this.ctx, session, options)
    }

    async fork(parent: string, options: SeatForkOptions = {}): Promise<Seat> {
      checkOptions('desk.fork', options, ['at', 'id', 'cwd'])
      return desk.fork(this.ctx, parent, options)
    }

    list(filter?: ListFilter): AsyncIterable<SessionCard> {
      return desk.store().list(filter)
    }

    get live(): readonly Seat[] {
      return desk.live.map((id) => new SeatView(id, desk, this.ctx))
    }

    remove(id: string): Promise<void> {
      return desk.remove(id)
    }
  }
}
