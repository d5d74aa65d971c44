export { type Handler, createHandler } from './handler.ts'
export type { Access, Authenticate, Bounds, HandlerOptions, HandlerSettings } from './options.ts'
export { Config, apply, inject, name } from './plugin.ts'
export type { Connection } from './router.ts'
