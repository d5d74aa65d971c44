export * from './append-only.ts'
export * from './harness.ts'
export { ReportedError } from './reports.ts'
export * from './scripted.ts'
