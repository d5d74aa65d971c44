import { messageOf } from '@headrace/message'
import type { Agent, Submission } from '@headrace/agent'
import type { Config } from './config.ts'
import type { Disk } from './disk.ts'
import type { SkillLibrary } from './library.ts'
import { openSkill } from './skill-text.ts'

/** What a prompt that begins with `/name` brings with it: the skill of that name. Nothing where there is none. */
export async function skillFor(agent: Agent, { input }: Submission, library: SkillLibrary, disk: Disk, config: Config): Promise<string | undefined> {
  const [first] = input.content
  const name = first?.type === 'text' ? /^\s*\/([a-z0-9-]{1,64})(?!\S)/.exec(first.text)?.[1] : undefined
  if (name === undefined) return undefined
  try {
    const skill = (await library.glance(agent)).byName.get(name)
    return skill && `The user opened this skill with /${name}; follow it.\n\n${await openSkill(skill, disk, config)}`
  } catch (error) {
    agent.report('agent/prompt-submit', `${messageOf(error)} The prompt goes without it.`)
    return undefined
  }
}
