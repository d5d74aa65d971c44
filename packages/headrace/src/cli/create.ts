import { existsSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { DONE } from './error.ts'
import { writeNewFolder } from './new-folder.ts'
import { toPluginName } from './plugin-name.ts'
import { shellWord } from './shell-word.ts'
import { readTemplate } from './template.ts'
import type { Terminal } from './terminal.ts'
import { version } from './version.ts'

export interface CreateOptions {
  readonly dir?: string
}

/** To be taken out with the first release, and README.md's chapter of that name with it. */
const UNPUBLISHED = 'headrace is not on npm yet: in place of npm install, npm i -D <folder>/*.tgz; README.md, "Before it is on npm", makes them'

/** `headrace create plugin`: a package that passes its tests as it is made. */
export async function createPlugin(text: string, { dir }: CreateOptions, terminal: Terminal): Promise<number> {
  const name = toPluginName(text)
  const folder = resolve(dir ?? name.folder)
  await writeNewFolder(folder, await readTemplate('plugin', { 'package-name': name.package, 'plugin-name': name.plugin, 'headrace-version': version() }))
  terminal.note(`made ${name.package} in ${folder}`)
  terminal.note(UNPUBLISHED)
  for (const command of nextCommands(folder)) terminal.print(`  ${command}`)
  return DONE
}

function nextCommands(folder: string): readonly string[] {
  const manager = managerOf(folder)
  const path = relative('.', folder)
  return [...path === '' ? [] : [`cd ${shellWord(path)}`], `${manager} install`, `${manager} test`, ...path === '' ? [`${manager} run check`] : []]
}

const MARKS = { pnpm: ['pnpm-workspace.yaml', 'pnpm-lock.yaml'], yarn: ['yarn.lock'], npm: ['package-lock.json'] }

/** What manages the packages around a folder; npm where nothing says so. */
function managerOf(folder: string): string {
  for (let at = dirname(folder); ; at = dirname(at)) {
    const found = Object.entries(MARKS).find(([, files]) => files.some((file) => existsSync(join(at, file))))
    if (found) return found[0]
    if (at === dirname(at)) return 'npm'
  }
}
