import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, extname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { nearest } from '@headrace/message'

/** What a plugin may be imported under: `import()` resolves from where it is called, and that is not the app's file. */
const CONDITIONS = ['node', 'import', 'module-sync', 'default']

/** A module that is not there; the message says what is near. */
export class NotFound extends Error {}

/** No package of that name can be found from any of the files. */
export class NoPackage extends NotFound {
  readonly packageName: string

  constructor(packageName: string, files: readonly string[]) {
    super(`there is no package ${packageName} here${nearest(packageName, files.flatMap((file) => [...packagesAround(file)]))}`)
    this.packageName = packageName
  }
}

/** True for a name that is a place and no package: the app's own file. */
export function isPath(name: string): boolean {
  return /^(\.{0,2}\/|\.{1,2}$|file:)/.test(name)
}

/**
 * The URL of the module that `import` would find under a name in the given file: a path from its folder, or a package, by the
 * conditions of `import`, as its own `exports` say.
 *
 * @throws NotFound
 */
export function resolveModule(name: string, file: string): string {
  if (!isPath(name)) return pathToFileURL(resolvePackage(name, file)).href
  const url = new URL(name, pathToFileURL(file))
  const path = fileURLToPath(url)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) throw new NotFound(`${name} is a folder; name its module${moduleIn(name, path)}`)
  if (!found?.isFile()) throw new NotFound(`there is no file ${name}${nearestFile(name, path)}`)
  return url.href
}

const stem = (file: string): string => basename(file, extname(file))

function modulesIn(folder: string): readonly string[] {
  return namesIn(folder).filter((file) => /\.[cm]?[jt]s$/.test(file))
}

/** The one that a folder's name stands for elsewhere, or its only one. */
function moduleIn(name: string, folder: string): string {
  const files = modulesIn(folder)
  const file = files.find((one) => stem(one) === 'index') ?? (files.length === 1 ? files[0] : undefined)
  return file === undefined ? '' : `, ${JSON.stringify(`${name.replace(/\/$/, '')}/${file}`)}`
}

function nearestFile(name: string, path: string): string {
  const start = name.slice(0, name.length - basename(name).length)
  const files = modulesIn(dirname(path))
  const sameStem = files.find((file) => stem(file) === basename(path) || stem(file) === stem(path))
  return sameStem === undefined ? nearest(name, files.map((file) => `${start}${file}`)) : `; did you mean ${JSON.stringify(`${start}${sameStem}`)}?`
}

interface Manifest {
  readonly name?: string
  readonly exports?: unknown
}

function resolvePackage(name: string, file: string): string {
  const parts = name.split('/')
  const packageName = parts.splice(0, name.startsWith('@') ? 2 : 1).join('/')
  const subpath = ['.', ...parts].join('/')
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const own = manifestIn(folder)
    const found = own?.name === packageName && own.exports !== undefined ? folder : join(folder, 'node_modules', packageName)
    if (existsSync(found)) return inPackage(found, packageName, subpath, file)
    if (dirname(folder) === folder) break
  }
  throw new NoPackage(packageName, [file])
}

function inPackage(folder: string, name: string, subpath: string, file: string): string {
  const { exports } = manifestIn(folder) ?? {}
  const own = `${name}${subpath.slice(1)}`
  if (exports === undefined || exports === null) {
    // A package without exports is found in the same way by both.
    try {
      return createRequire(file).resolve(own)
    } catch {
      throw new NotFound(`the package ${name} has no module ${own}`)
    }
  }
  const table = isTable(exports) ? exports : { '.': exports }
  const target = targetFor(table, subpath)
  if (target !== undefined && existsSync(join(folder, target))) return join(folder, target)
  const known = Object.keys(table).filter((key) => !key.includes('*')).map((key) => `${name}${key.slice(1)}`)
  throw new NotFound(`the package ${name} exports no ${subpath === '.' ? 'module' : subpath}${target === undefined ? nearest(own, known) : '; its file is not there: is it built?'}`)
}

function isTable(exports: unknown): exports is Readonly<Record<string, unknown>> {
  return typeof exports === 'object' && exports !== null && !Array.isArray(exports) && Object.keys(exports).some((key) => key.startsWith('.'))
}

/** The file of a subpath: its own key, else the longest pattern with one `*`. */
function targetFor(table: Readonly<Record<string, unknown>>, subpath: string): string | undefined {
  if (Object.hasOwn(table, subpath) && !subpath.includes('*')) return pick(table[subpath])
  const patterns = Object.keys(table).filter((key) => key.includes('*')).sort((a, b) => b.indexOf('*') - a.indexOf('*'))
  for (const pattern of patterns) {
    const [start = '', end = ''] = pattern.split('*')
    if (!subpath.startsWith(start) || !subpath.endsWith(end) || subpath.length <= start.length + end.length) continue
    return pick(table[pattern])?.replaceAll('*', () => subpath.slice(start.length, subpath.length - end.length))
  }
  return undefined
}

function pick(target: unknown): string | undefined {
  if (typeof target === 'string') return target.startsWith('./') ? target : undefined
  if (Array.isArray(target)) return target.map(pick).find((found) => found !== undefined)
  if (typeof target !== 'object' || target === null) return undefined
  for (const [condition, inner] of Object.entries(target)) {
    const found = CONDITIONS.includes(condition) ? pick(inner) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

function manifestIn(folder: string): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  } catch {
    return undefined
  }
}

/** Names of the packages that can be found from a file. */
function* packagesAround(file: string): Generator<string> {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const modules = join(folder, 'node_modules')
    for (const name of namesIn(modules)) {
      if (name.startsWith('@')) for (const inner of namesIn(join(modules, name))) yield `${name}/${inner}`
      else yield name
    }
    if (dirname(folder) === folder) return
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => !name.startsWith('.'))
  } catch {
    return []
  }
}
