export * from './budget.ts'
export * from './calibrated.ts'
export * from './counter.ts'
export * from './exact.ts'
export { heuristicCounter } from './heuristic.ts'
export { MODELS, MODELS_AS_OF } from './model-table.ts'
export {
  type ModelInfo, type ModelLookup, type ModelRow, type ModelTable, type RateRow, type Rates, ModelRowError, costOf, modelInfo, modelTable,
} from './models.ts'
export * from './overflow.ts'
export { CALL_OVERHEAD, IMAGE_TOKENS, MESSAGE_OVERHEAD } from './plain.ts'
export { type ModelProfile, type Profiles, DEFAULT_WINDOW, ProfileError, toProfile } from './profile.ts'
export { type Encoding, TokenizerMissingError } from './tokenizer.ts'
export { type ContextWeight, type WeighableContext, weighContext } from './weight.ts'
