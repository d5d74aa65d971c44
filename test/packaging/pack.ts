import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { root } from '../rules/workspace.ts'
import { succeed } from './process.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder that holds a tarball of each package. */
    tarballs: string
  }
}

/** Packs what is published, as `npm run pack:all` does behind the build, once for all tests. */
export default async function pack(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'headrace-tarballs-'))
  const remove = () => rm(folder, { recursive: true })
  try {
    await succeed('node', ['.config/pack.mjs', folder], { cwd: root })
  } catch (error) {
    await remove()
    throw error
  }
  project.provide('tarballs', folder)
  return remove
}
