export { CompactionService, type Compacted, type Config, DROPPED, SUMMARISED, SUMMARY_TITLE } from './compaction.ts'
export { INSTRUCTION } from './instruction.ts'
export { CompactionService as default } from './compaction.ts'
