import type { Agent } from '@headrace/agent'
import { type FileSystem, byCodeUnits, quoted } from '@headrace/files'
import { callsOf } from '@headrace/message'
import type { SessionEvent } from '@headrace/session'
import type { Config } from './config.ts'
import type { Diagnostic } from './diagnostic.ts'
import { NestedRoots } from './nested-roots.ts'
import { SkillIndex, type Survey, rootsOf } from './skill-index.ts'
import { type Skill, SkillError, isForModel } from './skill.ts'

declare module 'cordis' {
  interface Context {
    skills: Skills
  }
}

/** An agent, or a folder that one could work in. */
export type Workplace = Pick<Agent, 'cwd'>

/** `ctx.skills`: the skills on disk now. Those of touched packages belong to one agent, and are not among them. */
export interface Skills {
  /** In order of name. */
  list(at: Workplace): Promise<readonly Skill[]>
  /** What is wrong, in order of path. */
  diagnostics(at: Workplace): Promise<readonly Diagnostic[]>
}

/** How many names a refusal lists. */
const NEAR = 20

/** What is known of one agent's skills. */
interface Known {
  readonly nested: NestedRoots | undefined
  /** The index of the nested roots; made anew when there are more of them. */
  nestedIndex: SkillIndex | undefined
  latest: { readonly surveys: readonly Survey[]; readonly set: SkillSet } | undefined
  /** The seq of the first unread event. */
  next: number
  isStale: boolean
}

/** The skills of each agent. Agents of one folder share what was read. */
export class SkillLibrary implements Skills {
  private readonly config: Config
  private readonly files: FileSystem
  private readonly report: (agent: Agent, diagnostics: readonly Diagnostic[]) => Promise<void>
  /** By folder. Held only by the agents there. */
  private readonly indexes = new Map<string, WeakRef<SkillIndex>>()
  private readonly held = new WeakMap<object, SkillIndex>()
  private readonly known = new WeakMap<Agent['session'], Known>()
  private readonly sets = new WeakMap<Survey, SkillSet>()

  /** @param report is called after each look for an agent */
  constructor(config: Config, files: FileSystem, report: (agent: Agent, diagnostics: readonly Diagnostic[]) => Promise<void>) {
    this.config = config
    this.files = files
    this.report = report
  }

  async list(at: Workplace): Promise<readonly Skill[]> {
    return (await this.setIn(at)).skills
  }

  async diagnostics(at: Workplace): Promise<readonly Diagnostic[]> {
    return (await this.setIn(at)).diagnostics
  }

  /** What there is now. */
  async look(agent: Agent): Promise<SkillSet> {
    const known = this.knownOf(agent)
    this.catchUp(agent, known)
    known.isStale = false
    const { session, cwd } = agent
    const surveys = [await this.indexOf(session, cwd).look(), ...known.nestedIndex ? [await known.nestedIndex.look()] : []]
    const isSame =
      known.latest?.surveys.length === surveys.length &&
      surveys.every((survey, index) => survey === known.latest!.surveys[index])
    if (!isSame) known.latest = { surveys, set: surveys.length === 1 ? this.setOf(surveys[0]!) : skillSetOf(surveys) }
    const { set } = known.latest!
    await this.report(agent, set.diagnostics)
    return set
  }

  /** The same, but cached until a turn begins, or the model calls a tool that may have changed skills. */
  current(agent: Agent): SkillSet | Promise<SkillSet> {
    const known = this.knownOf(agent)
    this.catchUp(agent, known)
    return known.latest && !known.isStale ? known.latest.set : this.look(agent)
  }

  /** The skill of a name. @throws SkillError that lists similar names */
  async find(agent: Agent, name: string): Promise<Skill> {
    const wanted = name.normalize('NFC')
    const skill = (await this.current(agent)).byName.get(wanted)
    if (skill) return skill
    const { byName, skills } = await this.look(agent)
    const now = byName.get(wanted)
    if (now) return now
    const names = skills.filter(isForModel).map((other) => other.name)
    const word = wanted.toLowerCase()
    const near = names.filter((other) => other.includes(word) || (word !== '' && word.includes(other)))
    const some = near.length > 0 ? near : names
    const more = some.length > NEAR ? ` and ${some.length - NEAR} more` : ''
    const there = some.length === 0 ? 'There are none' : `${near.length > 0 ? 'Near it are' : 'There are'} ${some.slice(0, NEAR).join(', ')}${more}`
    throw new SkillError('SKILL_UNKNOWN', `There is no skill ${quoted(name)}. ${there}.`)
  }

  private knownOf(agent: Agent): Known {
    const { session } = agent
    let known = this.known.get(session)
    if (!known) {
      const nested = this.config.nested ? new NestedRoots(agent, this.config, this.files) : undefined
      this.known.set(session, (known = { nested, nestedIndex: undefined, latest: undefined, next: session.length, isStale: true }))
      this.setNested(known)
    }
    return known
  }

  /** Reads the events since the last use. */
  private catchUp({ session }: Agent, known: Known): void {
    if (known.next === session.length) return
    let hasMore = false
    for (const event of session.events(known.next)) {
      if (known.nested?.take(event)) hasMore = true
      if (hasMore || mayChange(event)) known.isStale = true
    }
    known.next = session.length
    if (hasMore) this.setNested(known)
  }

  private setNested(known: Known): void {
    const roots = known.nested?.roots ?? []
    if (roots.length > 0) known.nestedIndex = new SkillIndex(() => roots, this.files, this.config.maxFile)
  }

  private async setIn(at: Workplace): Promise<SkillSet> {
    return this.setOf(await this.indexOf(at, at.cwd).look())
  }

  private setOf(survey: Survey): SkillSet {
    const set = this.sets.get(survey) ?? skillSetOf([survey])
    this.sets.set(survey, set)
    return set
  }

  private indexOf(holder: object, cwd: string): SkillIndex {
    let index = this.held.get(holder) ?? this.indexes.get(cwd)?.deref()
    if (!index) {
      for (const [folder, ref] of this.indexes) if (!ref.deref()) this.indexes.delete(folder)
      index = new SkillIndex(() => rootsOf(cwd, this.config, this.files), this.files, this.config.maxFile)
      this.indexes.set(cwd, new WeakRef(index))
    }
    this.held.set(holder, index)
    return index
  }
}

/** A new turn; or calls that name a folder of skills or a skill, or run a command, which may do anything. */
function mayChange(event: SessionEvent): boolean {
  if (event.type === 'turn/start') return true
  return event.type === 'assistant/message' && callsOf(event.data.message).some((call) => call.name === 'bash' || /skill/i.test(call.arguments))
}

/** The skills of an agent at one look, each name once. The same object until something changed. */
export interface SkillSet {
  /** In order of name. */
  readonly skills: readonly Skill[]
  readonly byName: ReadonlyMap<string, Skill>
  /** In order of path. */
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Decides which skill has a name: one whose folder is called so before one whose is not, then by the order of surveys and their candidates.
 */
export function skillSetOf(surveys: readonly Survey[]): SkillSet {
  const candidates = distinct(surveys)
  const diagnostics: Diagnostic[] = surveys.flatMap((survey) => survey.diagnostics)
  const byName = new Map<string, Skill>()
  for (const { file, read } of candidates) diagnostics.push(...read.findings.map((found) => ({ ...found, path: file })))
  for (const misnamed of [false, true]) {
    for (const { source, folder, file, read } of candidates) {
      if (!read.manifest || (read.misnamed ?? false) !== misnamed) continue
      const { name } = read.manifest
      const other = byName.get(name)
      if (other) {
        // An identical copy, as installers make for each kind of agent, is no conflict.
        const severity = other.description === read.manifest.description ? 'warning' : 'error'
        diagnostics.push({ severity, code: 'SHADOWED', path: file, message: `the skill ${name} of ${other.folder} comes first; give this one another name` })
      } else byName.set(name, Object.freeze({ ...read.manifest, folder, file, source }))
    }
  }
  return {
    byName, skills: Object.freeze([...byName.values()].sort((a, b) => byCodeUnits(a.name, b.name))),
    diagnostics: Object.freeze(diagnostics.map((diagnostic) => Object.freeze(diagnostic)).sort((a, b) => byCodeUnits(a.path, b.path))),
  }
}

/** Each SKILL.md once, by whatever paths it is reached. */
function distinct(surveys: readonly Survey[]): Survey['candidates'] {
  const byFile = new Map<string, Survey['candidates'][number]>()
  for (const candidate of surveys.flatMap(({ candidates }) => candidates))
    if (!byFile.has(candidate.read.real)) byFile.set(candidate.read.real, candidate)
  return [...byFile.values()]
}
