import type { Agent } from '@headrace/agent'

/** What can be wrong with a skill or a root. */
export type DiagnosticCode =
  | 'NAME_MISSING' | 'NAME_INVALID' | 'NAME_MISMATCH' | 'DESCRIPTION_MISSING' | 'DESCRIPTION_LONG' | 'COMPATIBILITY_LONG' | 'FIELD_INVALID' | 'FIELD_UNKNOWN'
  | 'FRONTMATTER_MISSING' | 'FRONTMATTER_INVALID' | 'FRONTMATTER_LARGE' | 'YAML_REPAIRED'
  | 'FILE_KIND' | 'FILE_LARGE' | 'FILE_NOT_TEXT' | 'FILE_UNREADABLE' | 'ROOT_UNREADABLE' | 'SHADOWED'

/** What is wrong with a skill or a root, and whether the skill is there all the same. */
export interface Diagnostic {
  readonly code: DiagnosticCode
  /** `error`: it is left out. `warning`: it is there, as well as it could be read. */
  readonly severity: 'error' | 'warning'
  /** Absolute path of the SKILL.md or the root. */
  readonly path: string
  /** One line: what is wrong, and the way out. */
  readonly message: string
}

/** What is wrong with a file, before it is said which. */
export type Finding = Omit<Diagnostic, 'path'>

export function finding(severity: Diagnostic['severity'], code: DiagnosticCode, message: string): Finding {
  return { code, severity, message }
}

declare module 'cordis' {
  interface Events {
    /** Something is wrong with a skill that an agent would have: told once to each agent, and again when it comes back. Guarded. */
    'skills/diagnostic'(agent: Agent, diagnostic: Diagnostic): void
  }
}
