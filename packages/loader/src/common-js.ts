import { readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'

/** Has CommonJS modules run anew when they are needed next: Node holds them by their paths. */
export function forget(paths: Iterable<string>): void {
  for (const path of paths) {
    const real = realPath(path)
    delete createRequire(real).cache[real]
  }
}

/**
 * Runs the CommonJS modules that modules of ES import. Where one throws that Node 20 meets on the way through a module of ES, it rejects
 * twice, and nobody can catch the second: it would end the app. Here it is thrown once.
 *
 * @throws what a module throws
 */
export function runAhead(paths: Iterable<string>): void {
  for (const path of paths) if (isCommonJs(path)) createRequire(path)(path)
}

function isCommonJs(path: string): boolean {
  const extension = extname(path)
  return extension === '.cjs' || (extension === '.js' && typeOf(dirname(realPath(path))) !== 'module')
}

/** `type` of the package that a folder belongs to. */
function typeOf(folder: string): unknown {
  try {
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly type?: unknown }).type
  } catch {
    const parent = dirname(folder)
    return parent === folder ? undefined : typeOf(parent)
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
