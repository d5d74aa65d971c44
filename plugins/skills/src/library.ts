import type { Agent } from '@headrace/agent'
import { callsOf } from '@headrace/message'
import type { SessionEvent } from '@headrace/session'
import type { Config } from './config.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { Disk } from './disk.ts'
import { SkillError } from './error.ts'
import type { Shelf } from './shelf.ts'
import { SkillIndex } from './skill-index.ts'
import type { Skill } from './skill.ts'
import { quoted } from './text.ts'

declare module 'cordis' {
  interface Context {
    skills: Skills
  }
}

/** An agent, or a folder that one could work in. */
export type Workplace = Pick<Agent, 'cwd'>

/** `ctx.skills`: what skills there are, as they stand on disk now. */
export interface Skills {
  /** In order of name. */
  list(at: Workplace): Promise<readonly Skill[]>
  /** What is wrong, in order of path. */
  diagnostics(at: Workplace): Promise<readonly Diagnostic[]>
}

/** Names that a refusal tells of. */
const NEAR = 20

/** The skills of each agent. Agents of one folder share what was read. */
export class SkillLibrary implements Skills {
  private readonly config: Config
  private readonly disk: Disk
  private readonly tell: (agent: Agent, shelf: Shelf) => Promise<void>
  /** By folder. Held only by the agents there. */
  private readonly indexes = new Map<string, WeakRef<SkillIndex>>()
  private readonly held = new WeakMap<object, SkillIndex>()
  private readonly glances = new WeakMap<Agent['session'], { readonly shelf: Shelf; next: number }>()

  /** @param tell is told of each look for an agent */
  constructor(config: Config, disk: Disk, tell: (agent: Agent, shelf: Shelf) => Promise<void>) {
    this.config = config
    this.disk = disk
    this.tell = tell
  }

  async list(at: Workplace): Promise<readonly Skill[]> {
    return (await this.indexOf(at, at.cwd).look()).skills
  }

  async diagnostics(at: Workplace): Promise<readonly Diagnostic[]> {
    return (await this.indexOf(at, at.cwd).look()).diagnostics
  }

  /** What there is now. */
  async look(agent: Agent): Promise<Shelf> {
    const shelf = await this.indexOf(agent.session, agent.cwd).look()
    this.glances.set(agent.session, { shelf, next: agent.session.length })
    await this.tell(agent, shelf)
    return shelf
  }

  /** The same, at once; but a look serves its turn, up to calls that may have changed skills. */
  glance(agent: Agent): Shelf | Promise<Shelf> {
    const { session } = agent
    const last = this.glances.get(session)
    if (!last) return this.look(agent)
    for (const event of session.events(last.next)) if (mayChange(event)) return this.look(agent)
    last.next = session.length
    return last.shelf
  }

  /** @throws SkillError that tells names which are near */
  async find(agent: Agent, name: string): Promise<Skill> {
    const skill = (await this.glance(agent)).byName.get(name)
    if (skill) return skill
    const { byName, skills } = await this.look(agent)
    const now = byName.get(name)
    if (now) return now
    const names = skills.map((other) => other.name)
    const word = name.toLowerCase()
    const near = names.filter((other) => other.includes(word) || (word !== '' && word.includes(other)))
    const some = near.length > 0 ? near : names
    const more = some.length > NEAR ? ` and ${some.length - NEAR} more` : ''
    const there = some.length === 0 ? 'There are none' : `${near.length > 0 ? 'Near it are' : 'There are'} ${some.slice(0, NEAR).join(', ')}${more}`
    throw new SkillError('SKILL_UNKNOWN', `There is no skill ${quoted(name)}. ${there}.`)
  }

  private indexOf(holder: object, cwd: string): SkillIndex {
    let index = this.held.get(holder) ?? this.indexes.get(cwd)?.deref()
    if (!index) {
      for (const [folder, ref] of this.indexes) if (!ref.deref()) this.indexes.delete(folder)
      index = new SkillIndex(cwd, this.config, this.disk)
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
