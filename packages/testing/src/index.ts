export * from './append-only.ts'
export * from './harness.ts'
export * from './scripted.ts'
