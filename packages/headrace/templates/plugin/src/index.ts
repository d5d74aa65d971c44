export { Config, apply, inject, name } from './plugin.ts'
export { type Glossary, parseGlossary } from './glossary.ts'
