export { Config, apply, inject, name } from './plugin.ts'
export type { Task, TaskStatus } from './task.ts'
