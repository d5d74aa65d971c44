import { basename, join, posix, win32 } from 'node:path'
import type { Agent, Submission, ToolDefinition } from '@headrace/agent'
import { type FileSystem, type FolderEntry, cutAfter, decodeText, isAbsent, isInside, oneLine, quoted, reasonOf } from '@headrace/files'
import { splitFrontmatter } from '@headrace/files/frontmatter'
import { messageOf, textOf } from '@headrace/message'
import type { Config } from './config.ts'
import type { SkillLibrary } from './library.ts'
import { OPENED } from './opened.ts'
import { type Skill, SkillError, invokedName, isForModel } from './skill.ts'

interface Input {
  readonly name: string
  readonly resource?: string
  readonly offset?: number
}

/** The tool that opens skills: the same text in every workspace, whatever skills there are. */
export function skillTool(library: SkillLibrary, files: FileSystem, config: Config): ToolDefinition<Input> {
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
    // The second of two calls in one answer sees what the first has opened.
    sequential: true,
    async execute({ name, resource, offset = 0 }, { agent }) {
      const skill = await library.find(agent, name)
      if (resource !== undefined) return openResource(skill, resource, files, config, offset)
      // What the user opened with /name may have files to read, and go on.
      if (!isForModel(skill) && offset === 0) {
        throw new SkillError('SKILL_HIDDEN', `The skill ${skill.name} is opened by the user only, with /${skill.name} at the start of a prompt.`)
      }
      const text = await openSkill(skill, files, config, offset)
      return offset === 0 && isVisible(text, agent) ? `The skill ${skill.name} is open already: its instructions stand above and have not changed.` : text
    },
  }
}

/** What a prompt that begins with `/name` brings with it: the skill of that name. Nothing where the user can open none. */
export async function invokedSkill(
  agent: Agent,
  { input }: Submission,
  library: SkillLibrary,
  files: FileSystem,
  config: Config,
): Promise<string | undefined> {
  const [first] = input.content
  const name = first?.type === 'text' ? invokedName(first.text) : undefined
  if (name === undefined) return undefined
  try {
    const skill = (await library.current(agent)).byName.get(name)
    if (!skill || skill.userInvocable === false) return undefined
    const text = await openSkill(skill, files, config)
    return isVisible(text, agent)
      ? `The user opened this skill with /${name} again; its instructions stand above and have not changed. Follow them.`
      : `The user opened this skill with /${name}; follow it.\n\n${text}`
  } catch (error) {
    agent.report('agent/prompt-submit', `${messageOf(error)} The prompt goes without it.`)
    return undefined
  }
}

/**
 * The text of an opened skill, from `offset` of its body on: its folder, its files, and the body as it is on disk now.
 *
 * @throws SkillError
 */
async function openSkill(skill: Skill, files: FileSystem, config: Config, offset = 0): Promise<string> {
  const { name, folder, compatibility } = skill
  const body = await readBody(skill, files, config)
  const part = partOf(body, offset, config.maxOutput)
  if (offset > 0) return part
  const list = await listResources(skill, files, config.maxResources)
  const head = [`Skill ${name}, in ${oneLine(folder)}`, ...(compatibility === undefined ? [] : [`It needs: ${compatibility}`])]
  const resources = list.paths.length === 0 ? [] : [`Its files, for the skill tool as resource:\n${resourceLines(list)}`]
  return [head.join('\n'), ...resources, `Its instructions:\n\n${part}`].join('\n\n')
}

/** True where the visible history has this text of an opened skill: it is not told twice. */
function isVisible(text: string, { session }: Agent): boolean {
  return session.entries().some(({ owner, message }) => {
    if (owner === OPENED) return textOf(message).endsWith(text)
    return message.role === 'tool' && message.content.some(({ content }) => textOf({ content }) === text)
  })
}

async function readBody({ name, file }: Skill, files: FileSystem, { maxFile }: Config): Promise<string> {
  const unreadable = (reason: string, cause?: unknown): SkillError => new SkillError('SKILL_UNREADABLE', `The skill ${name} cannot be read: ${reason}.`, { cause })
  const { bytes } = await files.realpath(file).then((real) => files.read(real, maxFile + 1)).catch((error: unknown) => {
    throw unreadable(reasonOf(error), error)
  })
  if (bytes.length > maxFile) throw unreadable('its file is too large')
  const decoded = decodeText(bytes)
  if ('problem' in decoded) throw unreadable('its file is not text')
  const parts = splitFrontmatter(decoded.text)
  return (typeof parts === 'string' ? decoded.text : parts.body).trim() || '(It says nothing.)'
}

/** A text from `offset` on, at most `max` long, with a note where it goes on. @throws SkillError */
function partOf(text: string, offset: number, max: number): string {
  if (offset > 0 && offset >= text.length) throw new SkillError('OFFSET_INVALID', `The text has ${text.length} characters; there is nothing at offset ${offset}.`)
  const part = cutAfter(text.slice(offset), max)
  const end = offset + part.length
  const note = end < text.length ? `\n[The text goes on for ${text.length - end} characters: give offset ${end}.]` : ''
  return part.toWellFormed() + note
}

/**
 * The text of a file of a skill, from `offset` on; of a folder, its files. Nothing outside the skill's folder. @throws
 * SkillError
 */
async function openResource(skill: Skill, path: string, files: FileSystem, config: Config, offset = 0): Promise<string> {
  const shown = `${quoted(path)} of the skill ${skill.name}`
  try {
    const outside = new SkillError('RESOURCE_OUTSIDE', `${shown} is not inside of the skill; give a path below its folder.`)
    const isRooted = posix.isAbsolute(path) || win32.isAbsolute(path) || /^[a-z]:/i.test(path)
    if (path === '' || path.includes('\0') || isRooted || path.split(/[/\\]/).includes('..')) throw outside
    const folder = await files.realpath(skill.folder)
    const real = await files.realpath(join(folder, path))
    if (!isInside(folder, real)) throw outside
    const status = files.stat(real)
    if (status?.kind === 'folder') return resourceLines(await listResources(skill, files, config.maxResources, real.slice(folder.length + 1))) || `There are no files in ${shown}.`
    if (status?.kind !== 'file') throw new Error('it is not a regular file')
    if (status.size > config.maxFile) throw new Error(`it has ${status.size} bytes, more than ${config.maxFile}`)
    const { bytes, before } = await files.read(real, config.maxFile)
    if (before.kind !== 'file') throw new Error('it is not a regular file')
    // A folder on the path may have become a link since.
    if ((await files.realpath(real)) !== real) throw outside
    const decoded = decodeText(bytes)
    if ('problem' in decoded) throw new Error('it is not UTF-8 text')
    return partOf(decoded.text, offset, config.maxOutput) || '(The file is empty.)'
  } catch (error) {
    if (error instanceof SkillError) throw error
    if (isAbsent(error)) throw new SkillError('RESOURCE_MISSING', `There is no ${shown}; open the skill to see its files.`, { cause: error })
    throw new SkillError('RESOURCE_UNREADABLE', `${shown} cannot be read: ${reasonOf(error)}.`, { cause: error })
  }
}

/** Paths of the files of a skill, relative to its folder; folder by folder, in order of name. */
interface ResourceList {
  readonly paths: readonly string[]
  /** There are more than were listed. */
  readonly more: boolean
}

/** Folders deeper than this hold no resources that a model needs to be told of. */
const DEPTH = 8
/** Nor do more folders than this. */
const FOLDERS = 500
const SKIPPED: readonly string[] = ['node_modules', '__pycache__']

/** Lists the files below a folder of a skill. What is hidden is left out, and links to what is outside. */
async function listResources(skill: Skill, files: FileSystem, max: number, below = ''): Promise<ResourceList> {
  const real = await files.realpath(skill.folder).catch(() => skill.folder)
  const own = basename(skill.file)
  const paths: string[] = []
  let folders = 0
  const visit = async (path: string, depth: number): Promise<void> => {
    if (++folders > FOLDERS) return
    const entries = await files.list(join(real, path)).catch((): readonly FolderEntry[] => [])
    for (const { name, kind } of entries) {
      const at = path === '' ? name : `${path}/${name}`
      if (paths.length > max) return
      if (name.startsWith('.') || SKIPPED.includes(name) || at === own) continue
      if (kind === 'folder' && depth < DEPTH) await visit(at, depth + 1)
      else if (kind === 'file' || (kind === 'link' && (await leadsInside(real, at, files)))) paths.push(at)
    }
  }
  await visit(below, 1)
  return { paths: paths.slice(0, max), more: paths.length > max || folders > FOLDERS }
}

function resourceLines({ paths, more }: ResourceList): string {
  return [...paths.map((path) => `- ${oneLine(path)}`), ...(more ? ['[There are more. A folder as resource lists what is in it.]'] : [])].join('\n')
}

async function leadsInside(folder: string, path: string, files: FileSystem): Promise<boolean> {
  try {
    const target = await files.realpath(join(folder, path))
    return isInside(folder, target) && files.stat(target)?.kind === 'file'
  } catch {
    return false
  }
}
