import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { isInside, nodeFiles } from '@headrace/files'
import { GlobPattern, compileSegment } from './glob-pattern.ts'

/** A file (or a link, which is not followed) that a walk came by. */
export interface Found {
  readonly path: string
  /** The names from the folder where the walk began. */
  readonly names: readonly string[]
  readonly isLink: boolean
}

/** Reads in a folder. */
export type InFolder = <T>(path: string, use: (path: string) => Promise<T>) => Promise<T>

export interface WalkOptions {
  /** Names of folders that are not entered; the starting folder always is. */
  readonly skip: readonly string[]
  readonly gitignore: boolean
  /** The folder whose `.gitignore` is the outermost to be read. */
  readonly top: string
  readonly signal: AbortSignal
  /** Runs a read in a folder: tools pass one that refuses a folder that is outside by then. Default: by its path. */
  readonly inFolder?: InFolder
  /** Whether a folder may hold anything that is wanted. */
  readonly enter?: (names: readonly string[]) => boolean
}

interface Ignore {
  readonly folder: string
  readonly file: IgnoreFile
}

interface Pending {
  readonly path: string
  readonly names: readonly string[]
  readonly kind: 'folder' | 'file' | 'link'
  readonly ignores: readonly Ignore[]
}

/** Rules are text of the workspace; one file of them is read up to here (bytes). */
const MAX_IGNORE = 100_000

/**
 * The files below a folder, in the order of their paths (code units), whatever order the system lists them in. Links are
 * not followed: their targets are found where they are. Folders that cannot be read are passed over. It ends early,
 * without an error, when the signal is aborted.
 */
export async function* walk(folder: string, options: WalkOptions): AsyncGenerator<Found> {
  const outer = options.gitignore ? await outerIgnores(folder, options) : []
  const stack: Pending[] = [{ path: folder, names: [], kind: 'folder', ignores: outer }]
  for (let at = stack.pop(); at !== undefined && !options.signal.aborted; at = stack.pop()) {
    // One by one: a spread of a very large folder would overflow the call stack.
    if (at.kind === 'folder') for (const item of (await contentOf(at, options)).reverse()) stack.push(item)
    else yield { path: at.path, names: at.names, isLink: at.kind === 'link' }
  }
}

async function contentOf(folder: Pending, options: WalkOptions): Promise<Pending[]> {
  const { inFolder = byPath, gitignore } = options
  const { entries, own } = await inFolder(folder.path, async (path) => {
    const found = await readdir(path, { withFileTypes: true })
    const ignore = gitignore && found.some(({ name }) => name === '.gitignore') ? await readIgnore(path, folder.path) : undefined
    return { entries: found, own: ignore }
  }).catch(() => NOTHING)
  const ignores = own === undefined ? folder.ignores : [...folder.ignores, own]
  const content: Pending[] = []
  for (const entry of entries) {
    const kind = kindOf(entry)
    if (kind === undefined) continue
    const path = join(folder.path, entry.name)
    const names = [...folder.names, entry.name]
    if (kind === 'folder' && (options.skip.includes(entry.name) || options.enter?.(names) === false)) continue
    if (isIgnored(path, kind === 'folder', ignores)) continue
    content.push({ path, names, kind, ignores })
  }
  // A folder sorts as its content does: `a.txt` comes before `a/b`.
  const keys = new Map(content.map((item) => [item, (item.names.at(-1) ?? '') + (item.kind === 'folder' ? '/' : '')]))
  return content.sort((a, b) => ((keys.get(a) ?? '') < (keys.get(b) ?? '') ? -1 : 1))
}

/** A walk skips devices, pipes and sockets. */
function kindOf(entry: Dirent): Pending['kind'] | undefined {
  if (entry.isDirectory()) return 'folder'
  if (entry.isFile()) return 'file'
  return entry.isSymbolicLink() ? 'link' : undefined
}

/** The innermost file with a rule for a path decides. */
function isIgnored(path: string, isFolder: boolean, ignores: readonly Ignore[]): boolean {
  for (let at = ignores.length - 1; at >= 0; at--) {
    const { folder, file } = ignores[at] as Ignore
    const verdict = file.judge(relative(folder, path).split(sep), isFolder)
    if (verdict !== undefined) return verdict
  }
  return false
}

/**
 * Rules from above the start of the walk; none where they ignore the start itself: a folder that was named is shown.
 */
async function outerIgnores(start: string, { top, inFolder = byPath }: WalkOptions): Promise<Ignore[]> {
  if (start === top || !isInside(top, start)) return []
  const folders: string[] = []
  for (let at = dirname(start); isInside(top, at); at = dirname(at)) {
    folders.unshift(at)
    if (at === top) break
  }
  const read = folders.map((folder) => inFolder(folder, (path) => readIgnore(path, folder)).catch(() => undefined))
  const ignores = (await Promise.all(read)).filter((ignore) => ignore !== undefined)
  const steps = [...folders.slice(1), start]
  return steps.some((step) =>
    isIgnored(
      step,
      true,
      ignores.filter(({ folder }) => step !== folder && isInside(folder, step)),
    ),
  )
    ? []
    : ignores
}

async function readIgnore(path: string, folder: string): Promise<Ignore | undefined> {
  // Never through a link: it may lead outside; and never a pipe, which would hang.
  const reading = await nodeFiles.read(join(path, '.gitignore'), MAX_IGNORE).catch(() => undefined)
  if (reading?.before.kind !== 'file') return undefined
  return { folder, file: new IgnoreFile(Buffer.from(reading.bytes).toString('utf8')) }
}

const byPath: InFolder = (path, use) => use(path)
const NOTHING: { readonly entries: readonly Dirent[]; readonly own: Ignore | undefined } = { entries: [], own: undefined }

interface Rule {
  readonly negated: boolean
  readonly foldersOnly: boolean
  readonly test: (names: readonly string[]) => boolean
}

/** The rules of one `.gitignore`, for paths below its folder. */
export class IgnoreFile {
  private readonly rules: readonly Rule[]

  constructor(text: string) {
    this.rules = text.replace(/^\ufeff/, '').split(/\r?\n/).map(parseRule).filter((rule) => rule !== undefined).reverse()
  }

  /** True: ignored; false: taken back by a `!` rule; `undefined`: this file says nothing of it. Its parents are not looked at. */
  judge(names: readonly string[], isFolder: boolean): boolean | undefined {
    const rule = this.rules.find(({ foldersOnly, test }) => (isFolder || !foldersOnly) && test(names))
    return rule === undefined ? undefined : !rule.negated
  }
}

function parseRule(line: string): Rule | undefined {
  let pattern = withoutSpaces(line)
  if (pattern === '' || pattern.startsWith('#')) return undefined
  const negated = pattern.startsWith('!')
  if (negated) pattern = pattern.slice(1)
  const foldersOnly = pattern.endsWith('/')
  if (foldersOnly) pattern = pattern.slice(0, -1)
  if (pattern === '') return undefined
  const test = pattern.includes('/') ? testPath(pattern) : testName(pattern)
  return { negated, foldersOnly, test }
}

function testName(pattern: string): Rule['test'] {
  const matches = compileSegment(pattern)
  return (names) => matches(names.at(-1) ?? '')
}

function testPath(pattern: string): Rule['test'] {
  // Braces mean themselves in a .gitignore.
  const glob = new GlobPattern(`./${pattern}`, { braces: false })
  return (names) => glob.test(names)
}

/**
 * Strips trailing spaces, unless escaped by a backslash. Not by a regular expression: that is quadratic on a line of
 * spaces.
 */
function withoutSpaces(line: string): string {
  let end = line.length
  while (line[end - 1] === ' ') end--
  let slashes = 0
  while (line[end - 1 - slashes] === '\\') slashes++
  return line.slice(0, slashes % 2 === 1 && end < line.length ? end + 1 : end)
}
