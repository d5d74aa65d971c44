import { type HandlerOptions, createHandler } from '@headrace/plugin-http'
import type { Context } from 'cordis'
import { Hono } from 'hono'
import type { Routes } from './http.ts'
import type {} from './life.ts'

export const name = 'agents-http'
export const inject = ['agents', 'desk', 'http', 'sessions']

/** Serves agents to many users over the app's HTTP server. */
export async function apply(ctx: Context, options: HandlerOptions): Promise<void> {
  const handler = createHandler(ctx, options)
  ctx.on('app/stopping', () => handler.drain())
  const routes: Routes = new Hono()
  for (const path of ['/health', '/health/live', '/sessions', '/sessions/*', '/chat', '/chat/*']) {
    routes.all(path, (c) => handler(c.req.raw, { cut: () => void c.env.outgoing.destroy() }))
  }
  ctx.http.mount(routes)
}
