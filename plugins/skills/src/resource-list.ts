import { join, sep } from 'node:path'
import type { Disk, Item } from './disk.ts'
import { SKILL_FILE } from './skill.ts'
import { oneLine } from './text.ts'

/** Paths of the files of a skill, relative to its folder; folder by folder, in order of name. */
export interface ResourceList {
  readonly paths: readonly string[]
  /** There are more than were listed. */
  readonly more: boolean
}

/** Folders deeper than this hold no resources that a model needs to be told of. */
const DEPTH = 8
/** Nor do more folders than this. */
const FOLDERS = 500
const SKIPPED: readonly string[] = ['node_modules', '__pycache__']

/** Lists the files below a folder. What is hidden is left out, and links to what is outside. */
export async function listResources(folder: string, disk: Disk, max: number, below = ''): Promise<ResourceList> {
  const real = await disk.real(folder).catch(() => folder)
  const paths: string[] = []
  let folders = 0
  const visit = async (path: string, depth: number): Promise<void> => {
    if (++folders > FOLDERS) return
    const items = await disk.list(join(real, path)).catch((): readonly Item[] => [])
    for (const { name, kind } of items) {
      const at = path === '' ? name : `${path}/${name}`
      if (paths.length > max) return
      if (name.startsWith('.') || SKIPPED.includes(name) || at === SKILL_FILE) continue
      if (kind === 'folder' && depth < DEPTH) await visit(at, depth + 1)
      else if (kind === 'file' || (kind === 'link' && (await leadsInside(real, at, disk)))) paths.push(at)
    }
  }
  await visit(below, 1)
  return { paths: paths.slice(0, max), more: paths.length > max || folders > FOLDERS }
}

export function resourceLines({ paths, more }: ResourceList): string {
  return [...paths.map((path) => `- ${oneLine(path)}`), ...(more ? ['[There are more. A folder as resource lists what is in it.]'] : [])].join('\n')
}

async function leadsInside(real: string, path: string, disk: Disk): Promise<boolean> {
  try {
    const target = await disk.real(join(real, path))
    return isInside(real, target) && disk.stat(target).kind === 'file'
  } catch {
    return false
  }
}

/** True for what is below a folder; both without links. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}
