export type { Definition } from './definition.ts'
export { Config, apply, inject, name } from './plugin.ts'
export { type Details, type Progress, type Spent, detailsIn } from './report.ts'
