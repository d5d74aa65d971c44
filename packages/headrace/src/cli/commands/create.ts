import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf } from '@headrace/message'
import { CommandError, DONE, UsageError, version } from '../base/error.ts'
import { shellWord } from '../base/text.ts'
import type { Terminal } from '../show/terminal.ts'

export interface CreateOptions {
  readonly dir?: string
}

/** To be removed with the first release, together with README.md's chapter of that name. */
const UNPUBLISHED = {
  note: 'headrace is not on npm yet: first run "npm run pack:all /tmp/headrace" in a clone of it',
  install: 'npm i --no-save /tmp/headrace/*.tgz',
} as const

/** `headrace create plugin`: creates a package whose tests pass. */
export async function createPlugin(text: string, { dir }: CreateOptions, terminal: Terminal): Promise<number> {
  const name = toPluginName(text)
  const folder = resolve(dir ?? name.folder)
  await writeNewFolder(folder, await readTemplate('plugin', { 'package-name': name.package, 'plugin-name': name.plugin, 'headrace-version': version() }))
  terminal.note(`made ${name.package} in ${folder}`)
  terminal.note(UNPUBLISHED.note)
  for (const command of nextCommands(folder)) terminal.print(`  ${command}`)
  return DONE
}

function nextCommands(folder: string): readonly string[] {
  const manager = managerOf(folder)
  const path = relative('.', folder)
  return [...path === '' ? [] : [`cd ${shellWord(path)}`], manager === 'npm' ? UNPUBLISHED.install : `${manager} install`, `${manager} test`, ...path === '' ? [`${manager} run check`] : []]
}

const MARKS = { pnpm: ['pnpm-workspace.yaml', 'pnpm-lock.yaml'], yarn: ['yarn.lock'], npm: ['package-lock.json'] }

/** The package manager of a folder; npm by default. */
function managerOf(folder: string): string {
  for (let at = dirname(folder); ; at = dirname(at)) {
    const found = Object.entries(MARKS).find(([, files]) => files.some((file) => existsSync(join(at, file))))
    if (found) return found[0]
    if (at === dirname(at)) return 'npm'
  }
}

/** A fresh repository may be in the folder. */
const HARMLESS = ['.git']

/** Writes files into a folder that is empty or not there: all of them, or none. @throws CommandError, and then nothing was changed */
export async function writeNewFolder(folder: string, files: Files): Promise<void> {
  await checkEmpty(folder)
  const folders: string[] = []
  const written: string[] = []
  try {
    for (const [path, text] of files) {
      const file = join(folder, path)
      await makeFolder(dirname(file), folders)
      await writeFile(file, text, { flag: 'wx' })
      written.push(file)
    }
  } catch (error) {
    for (const file of written) await rm(file, { force: true })
    // Files that somebody else created meanwhile stay, with their folder.
    for (const made of folders.reverse()) await rmdir(made).catch(() => undefined)
    throw new CommandError(`${folder} could not be written, and is as it was: ${messageOf(error)}`, { cause: error })
  }
}

async function checkEmpty(folder: string): Promise<void> {
  let names: readonly string[]
  try {
    names = await readdir(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return
    throw new CommandError(code === 'ENOTDIR' ? `${folder} is not a folder; name another with --dir` : `${folder} cannot be read: ${messageOf(error)}`, { cause: error })
  }
  if (names.some((name) => !HARMLESS.includes(name))) throw new CommandError(`${folder} is not empty, so nothing was written; name another folder with --dir`)
}

/** Makes a folder and those above it, and adds to `made` what was not there. */
async function makeFolder(folder: string, made: string[]): Promise<void> {
  try {
    await makeOne(folder, made)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder) throw error
    await makeFolder(dirname(folder), made)
    // One retry only: a parent may be a dangling link.
    await makeOne(folder, made)
  }
}

async function makeOne(folder: string, made: string[]): Promise<void> {
  try {
    await mkdir(folder)
    made.push(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** What a new plugin is called. */
export interface PluginName {
  /** Of the package: `headrace-plugin-runbook`, or `@scope/…` as it was given. */
  readonly package: string
  /** Of the plugin, which signs what it adds: the package's last part without `headrace-plugin-` or `plugin-`. */
  readonly plugin: string
  /** Default name of its folder: the package's last part. */
  readonly folder: string
}

/** Part of the name of the plugin's tools, which have at most 64 characters. */
const LONGEST_PLUGIN = 50
/** npm's limit. */
const LONGEST_PACKAGE = 214
/** Owners that a plugin must not be named like. */
const SIGNERS = ['app', 'user', 'model', 'tool', 'loop']

/**
 * Reads `runbook`, `headrace-plugin-runbook` or `@acme/plugin-runbook`. @throws UsageError for what npm, or a tool's
 * name, does not allow
 */
export function toPluginName(text: string): PluginName {
  const [, scope, last] = /^(?:(@[^/]*)\/)?([^/]*)$/.exec(text) ?? []
  if (last === undefined) throw refused(text, 'has more than one "/"')
  if (scope !== undefined && !/^@[a-z0-9][a-z0-9._-]*$/.test(scope)) throw refused(text, 'has a scope that npm does not take')
  const plugin = last.replace(/^(?:headrace-)?plugin-/, '')
  if (!/^[a-z0-9][a-z0-9_-]*$/.test(plugin)) throw refused(text, 'is not made of small letters, digits, "-" and "_", the first a letter or digit')
  if (plugin.length > LONGEST_PLUGIN) throw refused(text, `has more than ${LONGEST_PLUGIN} characters, which leaves too few for a tool's name`)
  if (SIGNERS.includes(plugin)) throw refused(text, `would sign as "${plugin}", which is somebody else in a log`)
  const folder = scope === undefined ? `headrace-plugin-${plugin}` : last
  const name = scope === undefined ? folder : `${scope}/${folder}`
  if (name.length > LONGEST_PACKAGE) throw refused(text, `is longer than the ${LONGEST_PACKAGE} characters that npm takes`)
  return { package: name, plugin, folder }
}

function refused(text: string, problem: string): UsageError {
  return new UsageError(`the name ${JSON.stringify(text)} ${problem}; give one such as runbook, or @you/plugin-runbook`)
}

/** Texts by path, seen from the folder they are for. */
export type Files = ReadonlyMap<string, string>

/** A template is a working package; in the copy each of these words is replaced. */
export type Words = Readonly<Record<string, string>>

/** Files with another name in the template: npm leaves out a .gitignore, and a nested manifest misleads bundlers. */
const NAMES: Readonly<Record<string, string>> = { 'gitignore': '.gitignore', 'manifest.json': 'package.json' }

/** A template of this package, with its words replaced. */
export async function readTemplate(name: string, words: Words): Promise<Files> {
  const folder = fileURLToPath(new URL(`../../../templates/${name}/`, import.meta.url))
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name))).sort()
  // In one pass, so that no word is replaced inside a replacement.
  const pattern = new RegExp(Object.keys(words).join('|'), 'g')
  const texts = await Promise.all(paths.map((path) => readFile(join(folder, path), 'utf8')))
  return new Map(paths.map((path, index) => [NAMES[path] ?? path, texts[index]!.replace(pattern, (word) => words[word]!)]))
}
