import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import type { Config } from './config.ts'
import type { Disk } from './disk.ts'
import type { Source } from './skill.ts'

/** A folder whose folders are skills. */
export interface Root {
  /** Absolute. */
  readonly path: string
  readonly source: Source
}

const IN_FOLDER: readonly string[] = [join('.agents', 'skills'), join('.claude', 'skills')]

/** The roots that count for an agent's folder, the first ones first: what the app names, the project's from the folder up, the user's. */
export function rootsOf(cwd: string, config: Config, disk: Disk): readonly Root[] {
  const home = homedir()
  const configured = config.roots.map((path) => (path === '~' || /^~[/\\]/.test(path) ? join(home, path.slice(1)) : resolve(cwd, path)))
  const project = config.project ? foldersUp(cwd, config.projectMarkers, disk).flatMap((folder) => IN_FOLDER.map((path) => join(folder, path))) : []
  const user = config.user ? [join(configHome(home), 'headrace', 'skills'), ...IN_FOLDER.map((path) => join(home, path))] : []
  const all = [configured, project, user].flatMap((paths, index) => paths.map((path): Root => ({ path, source: (['config', 'project', 'user'] as const)[index]! })))
  return all.filter(({ path }, index) => all.findIndex((other) => other.path === path) === index)
}

/** From a folder up to the project's root, both included; where there is no project, the folder alone. */
function foldersUp(cwd: string, markers: readonly string[], disk: Disk): readonly string[] {
  const folders: string[] = []
  for (let at = resolve(cwd); ; at = dirname(at)) {
    folders.push(at)
    if (markers.some((marker) => isThere(join(at, marker), disk))) return folders
    if (dirname(at) === at) return folders.slice(0, 1)
  }
}

function isThere(path: string, disk: Disk): boolean {
  try {
    disk.stat(path)
    return true
  } catch {
    return false
  }
}

function configHome(home: string): string {
  const { XDG_CONFIG_HOME: path = '' } = process.env
  return isAbsolute(path) ? path : join(home, '.config')
}
