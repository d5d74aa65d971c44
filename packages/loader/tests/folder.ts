import { mkdirSync, mkdtempSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Context } from 'cordis'
import { type BootOptions, type Loader, type LoaderError, type LoaderReport, boot } from '@headrace/loader'
import { removeFolder } from '@headrace/testing/folder'
import { type Gate, gate } from '@headrace/testing/gate'

/** A folder with an app in it, outside the workspace. */
export class Folder {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'headrace-loader-')))
  readonly ctx = new Context()
  readonly reports: LoaderReport[] = []

  constructor() {
    this.ctx.on('loader/report', (report) => void this.reports.push(report))
  }

  at(name: string): string {
    return join(this.path, name)
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(this.at(name)), { recursive: true })
    writeFileSync(this.at(name), text)
  }

  /** As most editors do. */
  writeByRename(name: string, text: string): void {
    this.write(`${name}.swp`, text)
    renameSync(this.at(`${name}.swp`), this.at(name))
  }

  boot(options: BootOptions = {}): Promise<Loader> {
    return boot(this.ctx, { file: this.at('cordis.yml'), ...options })
  }

  /** The lines of what a boot is refused for, without the folder. */
  async refusal(text: string, options: BootOptions = {}): Promise<readonly string[]> {
    this.write('cordis.yml', text)
    const error = await this.boot(options).then(() => undefined, (reason: LoaderError) => reason)
    if (!error) throw new Error('it booted')
    return error.message.replaceAll(`${this.path}/`, '').split('\n')
  }

  /** What plugins said: they push words onto a list that all of them see. */
  get words(): string[] {
    const all = globalThis as { [kWords]?: Record<string, string[]> }
    return ((all[kWords] ??= {})[this.path] ??= [])
  }

  /** The source of a plugin that says when it loads and unloads. */
  plugin(word: string, more = ''): string {
    return `const words = globalThis[Symbol.for('loader.words')][${JSON.stringify(this.path)}]
export const name = ${JSON.stringify(word.replace(/ .*/, ''))}
${more}
export async function apply(ctx, config) {
  words.push(${JSON.stringify(`+${word}`)} + (config?.word ? ':' + config.word : ''))
  return () => void words.push(${JSON.stringify(`-${word}`)})
}
`
  }

  /** That of one that takes its time to load: until what {@link hold} gave last is opened. */
  slow(word: string): string {
    const held = `globalThis[Symbol.for('loader.held')]?.[${JSON.stringify(this.path)}]?.promise`
    return this.plugin(word).replace('words.push', `await ${held}\n  words.push`)
  }

  /** From now on plugins that are slow wait for this. */
  hold(): Gate<void> {
    const all = globalThis as { [kHeld]?: Record<string, Gate<void>> }
    return ((all[kHeld] ??= {})[this.path] = gate())
  }

  async close(): Promise<void> {
    await this.ctx.fiber.dispose()
    removeFolder(this.path)
  }
}

const kWords = Symbol.for('loader.words')
const kHeld = Symbol.for('loader.held')
