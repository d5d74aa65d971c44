/**
 * For packages of this workspace, without a promise to others: types and pure functions. Nothing here takes a service and gives back
 * what issues requests, registers or appends; a test tries each export.
 */
export { checkOption, checkOptions, namesOf } from './contract/check-options.ts'
export { toRecord } from './contract/error.ts'
export { LimitsSchema, SettingsSchema } from './contract/settings.ts'
export { newSessionId } from './life/agents.ts'
export { Costs } from './turn/costs.ts'
export { type KeyedPlace, KeyedRegistry } from './seams/keyed.ts'
export { NOBODY_SAID } from './seams/decided.ts'
export { cutMiddle, errorOutcome } from './seams/outcome.ts'
export { type Place, byPlace, ownerOf, pluginOf } from './seams/owner.ts'
