import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { isInside } from '@headrace/files'
import picomatch from 'picomatch'

/** A path: where it leads, and how it is written. */
export interface Led {
  /** Absolute, every link resolved. */
  readonly real: string
  /** Below the agent's folder, with `/`; undefined outside. */
  readonly inside: string | undefined
  /** As it is written, normalised, below the agent's folder; undefined outside. */
  readonly written: string | undefined
}

/** Resolves the links in the existing part of a path. @throws the system's error where that fails */
export async function leadOf(cwd: string, path: string): Promise<Led> {
  if (path.includes('\0')) throw new TypeError('a path with a NUL character')
  const home = await realpath(cwd)
  const absolute = resolve(home, path)
  const missing: string[] = []
  for (let at = absolute; ; at = dirname(at)) {
    const existing = await realpath(at).catch(async (error: unknown) => {
      const { code } = error as { code?: unknown }
      if ((code !== 'ENOENT' && code !== 'ENOTDIR') || at === dirname(at)) throw error
      // A dangling link: a write would create its target.
      if (await lstat(at).then(() => true, () => false)) throw error
      return undefined
    })
    if (existing === undefined) {
      missing.unshift(basename(at))
      continue
    }
    const real = join(existing, ...missing)
    return { real, inside: below(home, real), written: below(home, absolute) }
  }
}

function below(home: string, path: string): string | undefined {
  return isInside(home, path) ? relative(home, path).split(sep).join('/') || '.' : undefined
}

/** Compiles a glob of paths below the folder, or, where it is absolute, of the whole system. */
export function pathMatcher(pattern: string): (path: string) => boolean {
  return picomatch(pattern, { dot: true, nonegate: true, noextglob: true, strictBrackets: true, windows: false })
}

/** A path as a pattern of itself alone. */
export function exactPath(path: string): string {
  return path.replace(/[\\*?[\]{}()!+@|^$]/g, '\\$&')
}
