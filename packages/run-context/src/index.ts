export { assemble } from './assemble.ts'
export { type RenderedContext, RunContext } from './context.ts'
export { type EnvExtras, envBlock } from './environment.ts'
export {
  ContextEventError,
  type ContextEventErrorCode,
  InstructionsError,
  type InstructionsErrorCode,
  RunContextError,
  type RunContextErrorCode,
} from './error.ts'
export { type BodyOf, type CarriedSection, type ContextEvent, type EventSection, contextEvent, decode, fromEvent } from './event.ts'
export type { Pair, PairInput, PairList, RunContextOptions } from './input.ts'
export { ContextLog, contextLogOf } from './log.ts'
export { instructionsFromFiles } from './instructions.ts'
export type { Section, Where } from './section.ts'
export { CONTEXT_HEADING, CONTEXT_NOT_A_REQUEST, CONTEXT_PRECEDENCE, CONTEXT_TEMPLATE } from './template.ts'
