export { Config, apply, inject, name } from './plugin.ts'
export { ApprovalError } from './error.ts'
