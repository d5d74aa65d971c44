export type { FileLayer } from './files.ts'
export { nodeFiles } from './files.ts'
export * from './plugin.ts'
export { JsonlStore, type JsonlStoreOptions } from './store.ts'
