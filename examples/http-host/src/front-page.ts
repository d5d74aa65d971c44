import type { Context } from 'cordis'
import { Hono } from 'hono'
import type { Routes } from './http.ts'

/** The app's page from before it had agents. */
export const name = 'front-page'
export const inject = ['http']

export async function apply(ctx: Context): Promise<void> {
  const routes: Routes = new Hono()
  routes.get('/', (c) => c.text('An app.\n'))
  ctx.http.mount(routes)
}
