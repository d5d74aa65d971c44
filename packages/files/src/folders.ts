import type { FileHandle } from 'node:fs/promises'
import { readlink, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve, sep } from 'node:path'
import type { FileSystem } from './file-system.ts'

/** True for the folder itself and for what is below it. Both without links, or the answer is one about names only. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

/**
 * Where an open file or folder is now, without links: a folder of its path may have been swapped since `path` was resolved. From the open
 * handle where the system tells (Linux), else by its path; `undefined` where it cannot be told.
 */
export async function realPathOf(handle: FileHandle, path: string): Promise<string | undefined> {
  const real = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => realpath(path)).catch(() => '')
  return isAbsolute(real) ? real : undefined
}

/** Where a user's configuration is, by the XDG Base Directory rules: a relative path there is ignored. */
export function configHome(env: NodeJS.ProcessEnv = process.env, home = homedir()): string {
  return xdgFolder(env.XDG_CONFIG_HOME, join(home, '.config'))
}

/** Where state is that outlives a program, such as logs and sessions, by the same rules. */
export function stateHome(env: NodeJS.ProcessEnv = process.env, home = homedir()): string {
  return xdgFolder(env.XDG_STATE_HOME, join(home, '.local', 'state'))
}

function xdgFolder(path: string | undefined, otherwise: string): string {
  return path !== undefined && isAbsolute(path) ? path : otherwise
}

/** `~` and `~/…` (`~\…` on Windows) as a path in the home; others as they are. */
export function expandHome(path: string): string {
  return path === '~' || /^~[/\\]/.test(path) ? join(homedir(), path.slice(1)) : path
}

/** From a folder up to the nearest that holds one of the markers, both included; the folder alone where none does. */
export function foldersToProject(folder: string, markers: readonly string[], files: FileSystem): readonly string[] {
  const folders: string[] = []
  for (let at = resolve(folder); ; at = dirname(at)) {
    folders.push(at)
    if (markers.some((marker) => isThere(files, join(at, marker)))) return folders
    if (dirname(at) === at) return folders.slice(0, 1)
  }
}

function isThere(files: FileSystem, path: string): boolean {
  try {
    return files.lstat(path) !== undefined
  } catch {
    return false
  }
}
