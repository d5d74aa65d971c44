export { AgentsMdConfigError } from './config.ts'
export type { Diagnostic, DiagnosticCode } from './instruction-file.ts'
export * from './plugin.ts'
