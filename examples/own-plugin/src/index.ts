export * as runbook from './runbook.ts'
