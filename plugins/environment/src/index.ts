export { type Facts, dayOf, renderFacts } from './facts.ts'
export { GitHead, type GitState } from './git.ts'
export { CHANGED, Config, EnvironmentConfigError, FIRST, apply, inject, name } from './plugin.ts'
