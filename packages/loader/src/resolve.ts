import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { nearest } from '@headrace/message'
import { moduleResolve } from 'import-meta-resolve'

/** A module that does not exist; the message suggests similar names. */
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
 * The URL of the module that `import` would find under a name in the given file: a path from its folder, or a package.
 *
 * @throws NotFound
 */
export function resolveModule(name: string, file: string): string {
  if (!isPath(name)) return resolvePackage(name, file)
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

/** The file that a folder's name means in other systems, or its only file. */
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

/** Conditions of `import` in the Node that runs, with those of its own command line. */
function conditions(): Set<string> {
  const own = [...(process.env.NODE_OPTIONS ?? '').split(/\s+/), ...process.execArgv].join(' ')
  const given = [...own.matchAll(/(?:^|\s)(?:-C|--conditions)[ =](\S+)/g)].map(([, condition]) => condition!)
  return new Set(['node', 'import', 'module-sync', 'node-addons', ...given])
}

/**
 * Node's own algorithm, in a port of it, from where the app's file is: `import.meta.resolve` of Node 20 begins at the module that calls it.
 * The smaller library `resolve.exports` differs from Node in patterns, lists and folders.
 */
function resolvePackage(name: string, file: string): string {
  const all = conditions()
  try {
    return fileOf(name, file, all)
  } catch (error) {
    if (codeOf(error) !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') throw explained(name, file, codeOf(error))
    // The port stops at a condition that resolves to nothing; Node tries the next one.
    const dead = deadEnds(manifestOf(nameOf(name).packageName, file)?.exports, all)
    try {
      return fileOf(name, file, new Set([...all].filter((condition) => !dead.has(condition))))
    } catch (again) {
      throw explained(name, file, codeOf(again))
    }
  }
}

function fileOf(name: string, file: string, known: Set<string>): string {
  const url = moduleResolve(name, pathToFileURL(file), known)
  if (url.protocol !== 'file:') throw new NoPackage(name, [file])
  return url.href
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}

/** Conditions under which there is a table with none that holds. */
function deadEnds(target: unknown, known: ReadonlySet<string>): ReadonlySet<string> {
  const dead = new Set<string>()
  const leads = (part: unknown): boolean => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return true
    return Object.entries(part).map(([key, inner]) => {
      const found = leads(inner)
      if (!found && known.has(key)) dead.add(key)
      return found && (known.has(key) || key === 'default')
    }).includes(true)
  }
  leads(target)
  return dead
}

function nameOf(name: string): { readonly packageName: string; readonly subpath: string } {
  const parts = name.split('/')
  const packageName = parts.splice(0, name.startsWith('@') ? 2 : 1).join('/')
  return { packageName, subpath: ['.', ...parts].join('/') }
}

/** Explains Node's error to whoever wrote the name. */
function explained(name: string, file: string, code: string | undefined): NotFound {
  const { packageName, subpath } = nameOf(name)
  const manifest = manifestOf(packageName, file)
  if (code === 'ERR_INVALID_MODULE_SPECIFIER') return new NotFound(`${JSON.stringify(name)} cannot be the name of a package`)
  if (!manifest) return new NoPackage(packageName, [file])
  const the = `the package ${packageName}`
  if (code === 'ERR_INVALID_PACKAGE_CONFIG') return new NotFound(`the package.json of ${packageName} cannot be read`)
  if (code === 'ERR_INVALID_PACKAGE_TARGET') return new NotFound(`${the} exports ${subpath} from a place outside of it, which Node refuses`)
  const { exports } = manifest
  if (exports === undefined || exports === null) {
    return new NotFound(`${the} has no module ${name}${code === 'ERR_UNSUPPORTED_DIR_IMPORT' ? '; that is a folder' : ''}`)
  }
  const what = `${the} exports no ${subpath === '.' ? 'module' : subpath}`
  if (code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') return new NotFound(`${what}; its file is not there: is it built?`)
  const known = typeof exports === 'object' ? Object.keys(exports).filter((key) => key.startsWith('.') && !key.includes('*')) : []
  return new NotFound(`${what}${nearest(name, known.map((key) => `${packageName}${key.slice(1)}`))}`)
}

interface Manifest {
  readonly exports?: unknown
}

/** The manifest of a package that can be found from a file; an empty one where it cannot be read. */
function manifestOf(name: string, file: string): Manifest | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name)
    if (existsSync(found)) return readManifest(found) ?? {}
    const own = readManifest(folder)
    if (own?.name === name && own.exports !== undefined) return own
    if (dirname(folder) === folder) return undefined
  }
}

function readManifest(folder: string): (Manifest & { readonly name?: unknown }) | undefined {
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
