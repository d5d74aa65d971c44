import { HeadraceError } from '@headrace/message'

/** Where a root comes from, in the order of precedence; `nested`: a folder below the agent's that a tool touched. */
export type Source = 'config' | 'project' | 'user' | 'nested'

/** What a SKILL.md says of itself. */
export interface Manifest {
  /** 1 to 64 lower-case letters, digits and single hyphens, of any script; in Unicode's form NFC. */
  readonly name: string
  /** One line. */
  readonly description: string
  readonly license?: string
  readonly compatibility?: string
  readonly metadata?: Readonly<Record<string, string>>
  /** As the author wrote them, e.g. `Bash(git:*)`. Read and shown, not enforced. */
  readonly allowedTools?: readonly string[]
  /** `disable-model-invocation`: the model is not told of it and cannot open it; the user can, with `/name`. */
  readonly modelInvocable?: false
  /** `user-invocable`: `/name` does not open it; the model can. */
  readonly userInvocable?: false
}

/** A skill that an agent can open. */
export interface Skill extends Manifest {
  /** Absolute path of its folder, as it was found. */
  readonly folder: string
  /** Absolute path of its SKILL.md, as it was found. */
  readonly file: string
  readonly source: Source
}

/** True for what the model is told of, and may open. */
export function isForModel({ modelInvocable }: Skill): boolean {
  return modelInvocable !== false
}

/** The file that makes a folder a skill; in another case too, where no file is spelt like this. */
export const SKILL_FILE = 'SKILL.md'

const MAX_NAME = 64
const LETTER = '[\\p{Ll}\\p{Lo}\\p{Lm}\\p{M}\\p{Nd}]'
const NAME = new RegExp(`^${LETTER}+(?:-${LETTER}+)*$`, 'u')

/** True for 1 to 64 lower-case letters (or of scripts without case), digits and single hyphens, none at an end. */
export function isSkillName(name: string): boolean {
  return [...name].length <= MAX_NAME && NAME.test(name)
}

/** The name that a prompt begins with: `/name`, and nothing but white space behind it. */
export function invokedName(prompt: string): string | undefined {
  const name = /^\s*\/([^\s/]{1,256})(?!\S)/u.exec(prompt)?.[1]?.normalize('NFC')
  return name !== undefined && isSkillName(name) ? name : undefined
}

/** Codes of a `SkillError`. */
export type SkillErrorCode =
  | 'SKILL_UNKNOWN' | 'SKILL_HIDDEN' | 'SKILL_UNREADABLE' | 'RESOURCE_OUTSIDE' | 'RESOURCE_MISSING' | 'RESOURCE_UNREADABLE' | 'OFFSET_INVALID'

/** What the `skill` tool refuses or could not do; the message is written for the model. */
export class SkillError extends HeadraceError {
  constructor(code: SkillErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options)
  }
}
