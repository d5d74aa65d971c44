export * from './plugin.ts'
export { SqliteStore, type SqliteStoreOptions } from './store.ts'
