export { Config, apply, inject, name } from './plugin.ts'
export type { Diagnostic, DiagnosticCode } from './diagnostic.ts'
export type { Skills, Workplace } from './library.ts'
export { SkillError, type Manifest, type Skill, type SkillErrorCode, type Source } from './skill.ts'
