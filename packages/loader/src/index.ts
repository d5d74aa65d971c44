export { type BootOptions, type Loader, type LoaderReport, type Running, boot, check } from './loader.ts'
export type { Environment } from './plan.ts'
export { LoaderError, type Place, type Problem, lineOf } from './problem.ts'
