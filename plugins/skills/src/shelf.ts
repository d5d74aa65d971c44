import type { Diagnostic } from './diagnostic.ts'
import type { SkillFolder, Seen } from './skill-folder.ts'
import type { SkillRoot } from './skill-root.ts'
import type { Skill } from './skill.ts'
import { byCodeUnits } from './text.ts'

/** The skills of an agent at one look, each name once. The same object until something changed. */
export interface Shelf {
  /** In order of name. */
  readonly skills: readonly Skill[]
  readonly byName: ReadonlyMap<string, Skill>
  /** In order of path. */
  readonly diagnostics: readonly Diagnostic[]
}

interface Candidate {
  readonly root: SkillRoot
  readonly folder: SkillFolder
  readonly seen: Seen
}

/** Decides which skill has a name: one whose folder is called so before one whose is not, then by the order of roots, then of folders. */
export function arrange(roots: readonly SkillRoot[]): Shelf {
  const candidates = distinct(roots)
  const diagnostics: Diagnostic[] = roots.flatMap(({ diagnostic }) => diagnostic ?? [])
  const byName = new Map<string, Skill>()
  for (const { folder, seen } of candidates) diagnostics.push(...seen.findings.map((found) => ({ ...found, path: folder.file })))
  for (const misnamed of [false, true]) {
    for (const { root, folder, seen } of candidates) {
      if (!seen.manifest || (seen.misnamed ?? false) !== misnamed) continue
      const { name } = seen.manifest
      const other = byName.get(name)
      if (other) {
        diagnostics.push({ severity: 'error', code: 'SHADOWED', path: folder.file, message: `the skill ${name} of ${other.folder} comes first; give this one another name` })
      } else byName.set(name, Object.freeze({ ...seen.manifest, folder: folder.path, source: root.source }))
    }
  }
  return {
    byName, skills: Object.freeze([...byName.values()].sort((a, b) => byCodeUnits(a.name, b.name))),
    diagnostics: Object.freeze(diagnostics.map((diagnostic) => Object.freeze(diagnostic)).sort((a, b) => byCodeUnits(a.path, b.path))),
  }
}

/** Each SKILL.md once, by whatever paths it is reached. */
function distinct(roots: readonly SkillRoot[]): readonly Candidate[] {
  const candidates = new Map<string, Candidate>()
  for (const root of roots) {
    for (const folder of root.folders) {
      const { seen } = folder
      if (seen && !candidates.has(seen.real)) candidates.set(seen.real, { root, folder, seen })
    }
  }
  return [...candidates.values()]
}
