import { randomUUID } from 'node:crypto'
import { mkdtempSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Times that {@link removeFolder} starts again: a path is rarely on its way into the folder once, never so often. */
const ROUNDS = 100

/**
 * A new folder, as its real path, that goes with the test. What ends at the end of the test and is registered after it ends before it.
 *
 * @param name what its name begins with
 */
export function testFolder(name = 'headrace'): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), `${name}-`)))
  onTestFinished(() => removeFolder(path))
  return path
}

/**
 * Removes a folder with all that is in it; none is fine. Also where somebody still writes into it, as a store does that keeps a card in
 * the background, or a process that is being killed: the folder is moved out of their way first.
 *
 * @throws what the file system throws, where that is not about such a write
 */
export function removeFolder(path: string): void {
  const gone = `${path}.${randomUUID()}`
  try {
    renameSync(path, gone)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  for (let round = 1; ; round++) {
    try {
      rmSync(gone, { recursive: true, force: true })
      return
    } catch (error) {
      // A write that had found its way there before the folder was moved.
      if (codeOf(error) !== 'ENOTEMPTY' || round === ROUNDS) throw error
    }
  }
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown }).code
}
