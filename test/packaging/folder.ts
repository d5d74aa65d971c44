import { existsSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { catalog } from '../rules/workspace.ts'
import { succeed } from './process.ts'
import { tarballs } from './tarball.ts'

export interface Size {
  readonly packages: number
  readonly bytes: number
}

/** A stranger's project: an empty folder outside the workspace, with packages of ours installed by npm. */
export class Folder {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  static async empty(): Promise<Folder> {
    return new Folder(await mkdtemp(join(tmpdir(), 'headrace-stranger-')))
  }

  /** Installs packages of ours, and cordis, as their READMEs say, and `others`; what they need of ours comes from the tarballs too. */
  static async with(names: readonly string[], others: Readonly<Record<string, string>> = {}): Promise<Folder> {
    const folder = await Folder.empty()
    const all = tarballs()
    const dependencies = { cordis: catalog().cordis, ...Object.fromEntries(names.map((name) => [name, all[name]])), ...others }
    // npm refuses an override of what is asked for directly, unless it refers to it.
    const overrides = Object.fromEntries(Object.entries(all).map(([name, file]) => [name, names.includes(name) ? `$${name}` : file]))
    await folder.write('package.json', JSON.stringify({ name: 'stranger', private: true, type: 'module', dependencies, overrides }, null, 2))
    await succeed('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder.path, timeout: 170_000 })
    return folder
  }

  async write(name: string, text: string): Promise<string> {
    const path = join(this.path, name)
    await mkdir(join(path, '..'), { recursive: true })
    await writeFile(path, text)
    return path
  }

  async json(name: string): Promise<unknown> {
    return JSON.parse(await readFile(join(this.path, name), 'utf8'))
  }

  /** What npm put there: packages, and the bytes of their files. */
  async size(): Promise<Size> {
    const { packages } = await this.json('node_modules/.package-lock.json') as { packages: Record<string, unknown> }
    return { packages: Object.keys(packages).length, bytes: await bytesBelow(join(this.path, 'node_modules')) }
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true })
  }
}

async function bytesBelow(path: string): Promise<number> {
  if (!existsSync(path)) return 0
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await lstat(join(entry.parentPath, entry.name))).size),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
