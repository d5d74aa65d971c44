import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type FileSystem, nodeFiles } from '../src/index.ts'

/** A folder with these files, that goes with the test. */
export function folder(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'headrace-files-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return root
}

/** The real file system, which counts its calls and fails at some paths. */
export function counted() {
  const calls: string[] = []
  const faults = new Map<string, string>()
  const call = <T>(name: string, path: string, work: () => T): T => {
    calls.push(name)
    const code = faults.get(path)
    if (code !== undefined) throw Object.assign(new Error(code), { code })
    return work()
  }
  const files: FileSystem = {
    lstat: (path) => call('lstat', path, () => nodeFiles.lstat(path)),
    stat: (path) => call('stat', path, () => nodeFiles.stat(path)),
    list: async (path) => call('list', path, async () => nodeFiles.list(path)),
    realpath: async (path) => call('realpath', path, async () => nodeFiles.realpath(path)),
    read: async (path, limit) => call('read', path, async () => nodeFiles.read(path, limit)),
  }
  return { files, calls, faults }
}
