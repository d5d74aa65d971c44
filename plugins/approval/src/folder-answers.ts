import { createHash, randomUUID } from 'node:crypto'
import { lstat, mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isInside, stateHome } from '@headrace/files'
import { ApprovalError } from './error.ts'

/** Answers remembered for folders: one file per folder in the user's state directory, by the folder's real path. */
export class FolderAnswers {
  private writing: Promise<void> = Promise.resolve()

  /** The rules of a folder, as texts. @throws ApprovalError where the file is not the user's alone, or no such file */
  async of(cwd: string): Promise<readonly string[]> {
    const folder = await realpath(cwd)
    const file = await this.fileOf(folder)
    if (file === undefined) return []
    const stats = await lstat(file).catch((error: unknown) => {
      if ((error as { code?: unknown }).code !== 'ENOENT') throw error
    })
    if (!stats) return []
    const isOwn = stats.isFile() && (process.getuid === undefined || stats.uid === process.getuid()) && (process.platform === 'win32' || (stats.mode & 0o022) === 0)
    if (!isOwn) throw new ApprovalError('ANSWERS_NOT_OWN', `${file} can be written by others, or is no file; nothing that it remembers counts`)
    return rulesIn(await readFile(file, 'utf8'), folder, file)
  }

  /** True where a folder's answers can be kept: not where the state directory is inside it. */
  async canKeep(cwd: string): Promise<boolean> {
    return (await this.fileOf(await realpath(cwd))) !== undefined
  }

  /** Adds a rule. A new file replaces the old one, whole. */
  add(cwd: string, rule: string): Promise<void> {
    return (this.writing = this.writing.catch(() => undefined).then(() => this.write(cwd, rule)))
  }

  private async write(cwd: string, rule: string): Promise<void> {
    const folder = await realpath(cwd)
    const file = await this.fileOf(folder)
    if (file === undefined) return
    const rules = await this.of(folder)
    if (rules.includes(rule)) return
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const draft = `${file}.${randomUUID()}`
    await writeFile(draft, `${JSON.stringify({ folder, rules: [...rules, rule] }, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' })
    await rename(draft, file)
  }

  /** Never inside the workspace, where the model can write. */
  private async fileOf(folder: string): Promise<string | undefined> {
    const state = stateHome()
    const real = await realpath(state).catch(() => state)
    if (isInside(folder, real) || isInside(folder, state)) return undefined
    return join(state, 'headrace', 'approvals', `${createHash('sha256').update(folder).digest('hex')}.json`)
  }
}

function rulesIn(text: string, folder: string, file: string): readonly string[] {
  try {
    const { folder: of, rules } = JSON.parse(text) as { readonly folder?: unknown; readonly rules?: unknown }
    if (of === folder && Array.isArray(rules) && rules.every((rule) => typeof rule === 'string')) return rules
  } catch { /* said below */ }
  throw new ApprovalError('ANSWERS_INVALID', `${file} has no answers of ${folder}; remove it`)
}
