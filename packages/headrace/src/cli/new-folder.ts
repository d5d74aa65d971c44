import { mkdir, readdir, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf } from '@headrace/message'
import { CommandError } from './error.ts'
import type { Files } from './template.ts'

/** A repository that was just begun may be there. */
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
    // What somebody else put there meanwhile stays, and its folder with it.
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
    // Once more and no further: what is above may be a link to nowhere.
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
