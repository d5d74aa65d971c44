export * from './command.ts'
export * from './project.ts'
export * from './script.ts'
