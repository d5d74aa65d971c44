import { join } from 'node:path'
import type { Config } from './config.ts'
import type { Disk } from './disk.ts'
import { SkillError, reasonOf } from './error.ts'
import { splitFrontmatter } from './frontmatter.ts'
import { listResources, resourceLines } from './resource-list.ts'
import { SKILL_FILE, type Skill } from './skill.ts'
import { cutAfter, oneLine, toText } from './text.ts'

/** What one who opens a skill reads, from `offset` of its body on: where it is, what files it has, and the body as it stands on disk now. @throws SkillError */
export async function openSkill(skill: Skill, disk: Disk, config: Config, offset = 0): Promise<string> {
  const { name, folder, compatibility } = skill
  const body = await readBody(skill, disk, config)
  const part = partOf(body, offset, config.maxOutput)
  if (offset > 0) return part
  const list = await listResources(folder, disk, config.maxResources)
  const head = [`Skill ${name}, in ${oneLine(folder)}`, ...(compatibility === undefined ? [] : [`It needs: ${compatibility}`])]
  const files = list.paths.length === 0 ? [] : [`Its files, for the skill tool as resource:\n${resourceLines(list)}`]
  return [head.join('\n'), ...files, `Its instructions:\n\n${part}`].join('\n\n')
}

async function readBody({ name, folder }: Skill, disk: Disk, { maxFile }: Config): Promise<string> {
  const bytes = await disk.real(join(folder, SKILL_FILE)).then((real) => disk.read(real, maxFile + 1)).catch((error: unknown) => {
    throw new SkillError('SKILL_UNREADABLE', `The skill ${name} cannot be read: ${reasonOf(error)}.`, { cause: error })
  })
  const text = bytes.length > maxFile ? undefined : toText(bytes)
  if (text === undefined) throw new SkillError('SKILL_UNREADABLE', `The skill ${name} cannot be read: its file is ${bytes.length > maxFile ? 'too large' : 'not UTF-8 text'}.`)
  const parts = splitFrontmatter(text)
  return (typeof parts === 'string' ? text : parts.body).trim() || '(It says nothing.)'
}

/** A text from `offset` on, at most `max` long, with a note where it goes on. @throws SkillError */
export function partOf(text: string, offset: number, max: number): string {
  if (offset > 0 && offset >= text.length) throw new SkillError('OFFSET_INVALID', `The text has ${text.length} characters; there is nothing at offset ${offset}.`)
  const part = cutAfter(text.slice(offset), max)
  const end = offset + part.length
  const note = end < text.length ? `\n[The text goes on for ${text.length - end} characters: give offset ${end}.]` : ''
  return part.toWellFormed() + note
}
