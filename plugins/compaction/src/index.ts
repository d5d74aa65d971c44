export { CompactionService, type Compacted, type Config, DROPPED, INSTRUCTION, SUMMARY_TITLE } from './compaction.ts'
export { CompactionService as default } from './compaction.ts'
