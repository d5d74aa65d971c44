import { strict } from '@headrace/config'
import z from 'schemastery'

/** Config of the plugin. */
export interface Config {
  /** Folders of skills: absolute, below `~/`, or relative to the agent's folder. They come before all others. */
  readonly roots: string[]
  /** Whether the project's own count: `.agents/skills` and `.claude/skills`, from the agent's folder up to the project's root. */
  readonly project: boolean
  /** Whether the user's count. */
  readonly user: boolean
  /** Whether `.agents/skills` and `.claude/skills` count of other folders in the project, once the model's calls named a path there. */
  readonly nested: boolean
  /** Names that mark the project's root. */
  readonly projectMarkers: string[]
  /** Characters of the whole catalogue. */
  readonly maxCatalogue: number
  /** Characters of one result of the tool, and of what `/name` brings. */
  readonly maxOutput: number
  /** Characters that an opened skill keeps when what stands around it is summarised; 0: it is not told again. */
  readonly keep: number
  /** Bytes of a SKILL.md or of a resource. */
  readonly maxFile: number
  /** Files of a skill that are listed. */
  readonly maxResources: number
}

const size = (value: number, min: number) => z.natural().min(min).default(value)

export const Config: z<Partial<Config>, Config> = strict(z.object({
  roots: z.array(z.string()).default([]).description('Folders of skills, before all others: absolute, below ~/, or relative to the agent\'s folder.'),
  project: z.boolean().default(true).description('Whether .agents/skills and .claude/skills count, from the agent\'s folder up to the project\'s root.'),
  user: z.boolean().default(true).description('Whether the user\'s skills count.'),
  nested: z.boolean().default(true).description('Whether those of other folders in the project count, once a call named a path there.'),
  projectMarkers: z.array(z.string()).default(['.git']).description('Names that mark the project\'s root.'),
  maxCatalogue: size(16_000, 500).description('Characters of the whole catalogue.'),
  maxOutput: size(50_000, 100).description('Characters of one result of the tool, and of what /name brings.'),
  keep: size(20_000, 0).description('Characters that an opened skill keeps when what stands around it is summarised; 0: it is not told again.'),
  maxFile: size(1_000_000, 1_000).description('Bytes of a SKILL.md or of a resource.'),
  maxResources: size(100, 1).description('Files of a skill that are listed.'),
}))
