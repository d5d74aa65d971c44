import type { ToolDefinition } from '@headrace/agent'
import type { Config } from './config.ts'
import type { Disk } from './disk.ts'
import type { SkillLibrary } from './library.ts'
import { openResource } from './resource.ts'
import { openSkill } from './skill-text.ts'

interface Input {
  readonly name: string
  readonly resource?: string
  readonly offset?: number
}

/** The tool that opens skills: the same text in every workspace, whatever skills there are. */
export function skillTool(library: SkillLibrary, disk: Disk, config: Config): ToolDefinition<Input> {
  return {
    name: 'skill',
    description: 'Opens a skill: instructions for one kind of task. Before you begin a task that the description of an available skill fits, open it by its name and follow it. With resource it reads a file of the skill.',
    parameters: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name of the skill.' },
        resource: { type: 'string', description: 'The path of a file in the skill, relative to its folder.' },
        offset: { type: 'integer', minimum: 0, description: 'Where to go on in a text that was too long for one result.' },
      },
      required: ['name'],
      additionalProperties: false,
    },
    async execute({ name, resource, offset }, { agent }) {
      const skill = await library.find(agent, name)
      return resource === undefined ? openSkill(skill, disk, config, offset) : openResource(skill, resource, disk, config, offset)
    },
  }
}
