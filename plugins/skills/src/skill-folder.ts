import { basename, dirname, join } from 'node:path'
import { type Finding, finding } from './diagnostic.ts'
import { type Disk, type Stamp, type Stat, isSame } from './disk.ts'
import { isAbsent, isPassing, reasonOf } from './error.ts'
import { SKILL_FILE } from './skill.ts'
import { type SkillFile, readSkillFile } from './skill-file.ts'
import type { Slices } from './slices.ts'
import { toText } from './text.ts'

/** Bytes of a SKILL.md that are read for its frontmatter. */
const HEAD = 65_536

/** What a folder was last seen to hold. */
export interface Seen extends SkillFile {
  /** Path of the SKILL.md without links. */
  readonly real: string
}

/** A folder in a root: a skill, if it holds a SKILL.md. */
export class SkillFolder {
  readonly path: string
  /** Absolute path of the SKILL.md, as it was found. */
  readonly file: string
  private stamp: Stamp | undefined
  private last: Seen | undefined

  constructor(path: string) {
    this.path = path
    this.file = join(path, SKILL_FILE)
  }

  /** Nothing where there is no SKILL.md. */
  get seen(): Seen | undefined {
    return this.last
  }

  /** Looks whether it changed, at once, and reads it only then. True where what was seen is another now. */
  look(disk: Disk, slices: Slices, maxFile: number): boolean | Promise<boolean> {
    const before = this.last
    try {
      const stat = disk.stat(this.file)
      if (isSame(stat.stamp, this.stamp)) return false
      this.stamp = undefined
      return this.take(stat, disk, slices, maxFile).catch((error: unknown) => this.failed(before, error))
    } catch (error) {
      return this.failed(before, error)
    }
  }

  private async take({ kind, size, stamp }: Stat, disk: Disk, slices: Slices, maxFile: number): Promise<boolean> {
    if (kind !== 'file') this.last = this.refused('FILE_KIND', 'it is not a regular file')
    else if (size > maxFile) this.last = this.refused('FILE_LARGE', `it has ${size} bytes, more than ${maxFile}; move what is long to other files of the skill`)
    else this.last = await this.read(disk, slices)
    this.stamp = stamp
    return true
  }

  private failed(before: Seen | undefined, error: unknown): boolean {
    this.stamp = undefined
    if (isPassing(error) && before) return false
    this.last = isAbsent(error) ? undefined : this.refused('FILE_UNREADABLE', `it cannot be read: ${reasonOf(error)}`)
    return !isSeenSame(before, this.last)
  }

  private async read(disk: Disk, slices: Slices): Promise<Seen> {
    const real = await disk.real(this.file)
    const bytes = await disk.read(real, HEAD)
    return slices.run(() => {
      const isHead = bytes.length === HEAD
      const text = toText(bytes, isHead)
      if (text === undefined) return this.refused('FILE_NOT_TEXT', 'it is not UTF-8 text; save it as such', real)
      return { ...readSkillFile(text, [basename(this.path), basename(dirname(real))], !isHead), real }
    })
  }

  private refused(code: Finding['code'], message: string, real = this.file): Seen {
    return { findings: [finding('error', code, message)], real }
  }
}

function isSeenSame(a: Seen | undefined, b: Seen | undefined): boolean {
  return a === b || (a?.manifest === undefined && b?.manifest === undefined && JSON.stringify(a?.findings) === JSON.stringify(b?.findings))
}
