import { join } from 'node:path'
import type { Diagnostic } from './diagnostic.ts'
import { type Disk, type Stamp, type Stat, isSame } from './disk.ts'
import { isAbsent, isPassing, reasonOf } from './error.ts'
import type { Root } from './roots.ts'
import { SkillFolder } from './skill-folder.ts'

/** A folder's time may stand still for so many milliseconds while names are still added to it. */
const SETTLED = 50

/** A root and the folders in it. */
export class SkillRoot implements Root {
  readonly path: string
  readonly source: Root['source']
  /** The same for two paths to one folder; nothing where there is no folder. */
  id: string | undefined
  private stamp: Stamp | undefined
  private children: readonly SkillFolder[] = []
  private problem: string | undefined

  constructor({ path, source }: Root) {
    this.path = path
    this.source = source
  }

  /** In order of name. */
  get folders(): readonly SkillFolder[] {
    return this.children
  }

  get diagnostic(): Diagnostic | undefined {
    return this.problem === undefined ? undefined : { severity: 'error', code: 'ROOT_UNREADABLE', path: this.path, message: this.problem }
  }

  /** Looks which folders there are, and lists them only where that changed. True where it has others now. */
  async look(disk: Disk): Promise<boolean> {
    const { problem, children } = this
    try {
      const stat = disk.stat(this.path)
      this.id = stat.id
      if (isSame(stat.stamp, this.stamp)) return false
      if (stat.kind !== 'folder') throw new Error('it is not a folder')
      await this.list(disk, stat)
      this.problem = undefined
    } catch (error) {
      this.stamp = undefined
      if (!isPassing(error)) {
        this.id = undefined
        this.children = []
      }
      this.problem = this.problemOf(error)
    }
    return problem !== this.problem || children.length !== this.children.length || children.some((child, index) => child !== this.children[index])
  }

  private async list(disk: Disk, { stamp, changed }: Stat): Promise<void> {
    const now = Date.now()
    const known = new Map(this.children.map((child) => [child.path, child]))
    const items = await disk.list(this.path)
    // A file is not a skill, and nothing is wrong with it; a hidden folder is somebody else's.
    const names = items.filter(({ name, kind }) => (kind === 'folder' || kind === 'link') && !name.startsWith('.')).map(({ name }) => join(this.path, name))
    this.children = names.map((path) => known.get(path) ?? new SkillFolder(path))
    this.stamp = Math.abs(now - changed) > SETTLED ? stamp : undefined
  }

  private problemOf(error: unknown): string | undefined {
    if (!isAbsent(error)) return `this folder of skills cannot be read: ${reasonOf(error)}`
    return this.source === 'config' ? 'this folder of skills is not there; make it, or take it out of the config' : undefined
  }
}
