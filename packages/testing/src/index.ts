export * from './store-conformance.ts'
