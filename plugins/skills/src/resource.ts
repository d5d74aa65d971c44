import { join, posix, win32 } from 'node:path'
import type { Config } from './config.ts'
import type { Disk } from './disk.ts'
import { SkillError, isAbsent, reasonOf } from './error.ts'
import { isInside, listResources, resourceLines } from './resource-list.ts'
import type { Skill } from './skill.ts'
import { partOf } from './skill-text.ts'
import { quoted, toText } from './text.ts'

/** What one who asks for a file of a skill reads, from `offset` on; of a folder, its files. Nothing outside of the skill's folder. @throws SkillError */
export async function openResource(skill: Skill, path: string, disk: Disk, config: Config, offset = 0): Promise<string> {
  const shown = `${quoted(path)} of the skill ${skill.name}`
  const refuse = (error: unknown): never => {
    if (error instanceof SkillError) throw error
    if (isAbsent(error)) throw new SkillError('RESOURCE_MISSING', `There is no ${shown}; open the skill to see its files.`, { cause: error })
    throw new SkillError('RESOURCE_UNREADABLE', `${shown} cannot be read: ${reasonOf(error)}.`, { cause: error })
  }
  try {
    const outside = new SkillError('RESOURCE_OUTSIDE', `${shown} is not inside of the skill; give a path below its folder.`)
    if (path === '' || path.includes('\0') || posix.isAbsolute(path) || win32.isAbsolute(path) || /^[a-z]:/i.test(path) || path.split(/[/\\]/).includes('..')) throw outside
    const folder = await disk.real(skill.folder)
    const real = await disk.real(join(folder, path))
    if (!isInside(folder, real)) throw outside
    const { kind, size } = disk.stat(real)
    if (kind === 'folder') return resourceLines(await listResources(folder, disk, config.maxResources, real.slice(folder.length + 1))) || `There are no files in ${shown}.`
    if (kind === 'other') throw new Error('it is not a regular file')
    if (size > config.maxFile) throw new Error(`it has ${size} bytes, more than ${config.maxFile}`)
    const bytes = await disk.read(real, config.maxFile)
    // A folder on the way may have become a link since.
    if ((await disk.real(real)) !== real) throw outside
    const text = toText(bytes)
    if (text === undefined) throw new Error('it is not UTF-8 text')
    return partOf(text, offset, config.maxOutput) || '(The file is empty.)'
  } catch (error) {
    return refuse(error)
  }
}
