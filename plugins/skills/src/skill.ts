/** Where a root comes from, in the order of precedence. */
export type Source = 'config' | 'project' | 'user'

/** What a SKILL.md says of itself. */
export interface Manifest {
  /** 1 to 64 of a-z, 0-9 and single hyphens. */
  readonly name: string
  /** One line. */
  readonly description: string
  readonly license?: string
  readonly compatibility?: string
  readonly metadata?: Readonly<Record<string, string>>
  /** As the author wrote them, e.g. `Bash(git:*)`. Read and shown, not enforced. */
  readonly allowedTools?: readonly string[]
}

/** A skill that an agent can open. */
export interface Skill extends Manifest {
  /** Absolute path of its folder, as it was found. */
  readonly folder: string
  readonly source: Source
}

/** The file that makes a folder a skill. */
export const SKILL_FILE = 'SKILL.md'

const MAX_NAME = 64

/** True for 1 to 64 of a-z, 0-9 and single hyphens, none at an end. */
export function isSkillName(name: string): boolean {
  return name.length <= MAX_NAME && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)
}
