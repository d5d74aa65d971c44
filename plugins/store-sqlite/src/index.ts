export * from './plugin.ts'
export type { LostEvents, Salvaged } from './salvage.ts'
export { SqliteStore, type SqliteStoreOptions } from './store.ts'
