import type { Config } from './config.ts'
import type { Disk } from './disk.ts'
import { rootsOf } from './roots.ts'
import { type Shelf, arrange } from './shelf.ts'
import { SkillRoot } from './skill-root.ts'
import { Slices, each } from './slices.ts'

/** Files that are read at a time: enough to keep Node's four threads busy. */
const AT_ONCE = 16

/** The skills that count in one folder. A look at what did not change is one `stat` for each root and each folder in it. */
export class SkillIndex {
  private readonly cwd: string
  private readonly config: Config
  private readonly disk: Disk
  private readonly slices = new Slices()
  private roots: readonly SkillRoot[] | undefined
  private shelf: Shelf | undefined
  private running: Promise<Shelf> | undefined
  private waiting: Promise<Shelf> | undefined

  constructor(cwd: string, config: Config, disk: Disk) {
    this.cwd = cwd
    this.config = config
    this.disk = disk
  }

  /** Looks what there is now. One look at a time; those who ask meanwhile share the next, which sees all that they have seen. */
  look(): Promise<Shelf> {
    if (!this.running) return (this.running = this.sweep().finally(() => (this.running = undefined)))
    return (this.waiting ??= this.running.catch(() => undefined).then(() => {
      this.waiting = undefined
      return this.look()
    }))
  }

  private async sweep(): Promise<Shelf> {
    const { disk, slices, config: { maxFile } } = this
    this.roots ??= rootsOf(this.cwd, this.config, disk).map((root) => new SkillRoot(root))
    const changes = await Promise.all(this.roots.map((root) => root.look(disk)))
    const roots = distinct(this.roots)
    let isChanged = changes.includes(true)
    const note = (is: boolean): undefined => {
      isChanged ||= is
      return undefined
    }
    await each(roots.flatMap(({ folders }) => folders), AT_ONCE, slices, (folder) => {
      const changed = folder.look(disk, slices, maxFile)
      return typeof changed === 'boolean' ? note(changed) : changed.then(note)
    })
    if (this.shelf && !isChanged) return this.shelf
    return (this.shelf = arrange(roots))
  }
}

/** Roots that are links to one folder, once. */
function distinct(roots: readonly SkillRoot[]): readonly SkillRoot[] {
  return roots.filter(({ id }, index) => id === undefined || roots.findIndex((other) => other.id === id) === index)
}
