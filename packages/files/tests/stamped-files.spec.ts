import { execFileSync } from 'node:child_process'
import { chmodSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type FileProblem, type FileStatus, type FileSystem, StampedFiles, isInside, nodeFiles } from '../src/index.ts'
import { counted, folder } from './kit.ts'

type Value = { readonly text: string } | FileProblem

function reader(
  files: FileSystem = nodeFiles,
  options: { readonly maxSize?: number; readonly head?: number; readonly root?: string } = {},
) {
  return new StampedFiles<Value>({
    files,
    maxSize: options.maxSize ?? 1_000,
    ...(options.head !== undefined && { head: options.head }),
    ...(options.root !== undefined && { admits: (real: string) => isInside(options.root!, real) }),
    make: ({ bytes, isWhole }) => ({ text: `${Buffer.from(bytes)}${isWhole ? '' : '…'}` }),
    problem: (problem) => problem,
  })
}

describe('a file that did not change', () => {
  it('is the same value, at once, for one call of the file system; by a link too', async () => {
    const root = folder({ 'a.txt': 'a' })
    symlinkSync('a.txt', join(root, 'link'))
    const { files, calls } = counted()
    const stamped = reader(files)
    for (const [name, call] of [['a.txt', 'lstat'], ['link', 'stat'], ['none', 'lstat']] as const) {
      const first = await stamped.look(join(root, name))
      calls.length = 0
      expect(stamped.look(join(root, name))).toBe(first)
      expect(calls).toEqual([call])
    }
  })

  it('but whose rights did, or that another file replaced with the same size and time, is read again', async () => {
    const root = folder({ 'a.txt': 'one', 'b.txt': 'two' })
    const [a, b] = [join(root, 'a.txt'), join(root, 'b.txt')]
    const time = new Date(1_700_000_000_000)
    utimesSync(a, time, time)
    utimesSync(b, time, time)
    const { files, calls } = counted()
    const stamped = reader(files)
    await stamped.look(a)
    renameSync(b, a)
    expect(await stamped.look(a)).toEqual({ text: 'two' })
    calls.length = 0
    chmodSync(a, 0o600)
    await stamped.look(a)
    expect(calls).toContain('read')
  })
})

describe('a file that changed', () => {
  it('is read anew; one that went is undefined, and comes back', async () => {
    const root = folder({ 'a.txt': 'one' })
    const path = join(root, 'a.txt')
    const stamped = reader()
    expect(await stamped.look(path)).toEqual({ text: 'one' })
    writeFileSync(path, 'two')
    expect(await stamped.look(path)).toEqual({ text: 'two' })
    rmSync(path)
    expect(stamped.look(path)).toBeUndefined()
    writeFileSync(path, 'three')
    expect(await stamped.look(path)).toEqual({ text: 'three' })
  })

  it('is followed where a link leads elsewhere, or becomes a file', async () => {
    const root = folder({ 'a.txt': 'a', 'b.txt': 'b' })
    const link = join(root, 'link')
    const stamped = reader()
    symlinkSync('a.txt', link)
    expect(await stamped.look(link)).toEqual({ text: 'a' })
    unlinkSync(link)
    symlinkSync('b.txt', link)
    expect(await stamped.look(link)).toEqual({ text: 'b' })
    unlinkSync(link)
    writeFileSync(link, 'c')
    expect(await stamped.look(link)).toEqual({ text: 'c' })
  })

  it('while it was read is read again', async () => {
    const at = (stamp: number): FileStatus => ({ kind: 'file', id: '1', size: 3, stamp: [BigInt(stamp)], changed: 0 })
    let reads = 0
    const files: FileSystem = {
      ...nodeFiles, lstat: () => at(2), realpath: async (path) => path,
      read: async () => ({ bytes: Buffer.from(`${++reads}`), before: at(reads), after: at(2) }),
    }
    const stamped = reader(files)
    expect(await stamped.look('/a')).toEqual({ text: '1' })
    expect(await stamped.look('/a')).toEqual({ text: '2' })
    expect(await stamped.look('/a')).toEqual({ text: '2' })
  })
})

describe('what is not read', () => {
  it('is a problem that says why', async () => {
    const root = folder({ 'large.txt': 'x'.repeat(11), 'folder/x': '' })
    execFileSync('mkfifo', [join(root, 'pipe')])
    symlinkSync('nothing', join(root, 'dangling'))
    symlinkSync('circle', join(root, 'circle'))
    const outside = folder({ 'secret.txt': 'secret' })
    symlinkSync(join(outside, 'secret.txt'), join(root, 'out'))
    const { files, calls } = counted()
    const stamped = reader(files, { maxSize: 10, root })
    const look = async (name: string) => stamped.look(join(root, name))
    expect(await look('large.txt')).toMatchObject({ code: 'TOO_LARGE', size: 11 })
    expect(await look('folder')).toMatchObject({ code: 'NOT_A_FILE', kind: 'folder' })
    expect(await look('pipe')).toMatchObject({ code: 'NOT_A_FILE', kind: 'pipe' })
    expect(await look('dangling')).toMatchObject({ code: 'LINK_DANGLING' })
    expect(await look('circle')).toMatchObject({ code: 'LINK_LOOP' })
    expect(await look('out')).toMatchObject({ code: 'OUTSIDE', path: join(root, 'out') })
    expect(calls).not.toContain('read')
  })

  it('is unreadable once, and what was known stands where the system cannot answer now', async () => {
    const root = folder({ 'a.txt': 'a', 'b.txt': 'b' })
    const [a, b] = [join(root, 'a.txt'), join(root, 'b.txt')]
    const { files, faults } = counted()
    const stamped = reader(files)
    const known = await stamped.look(a)
    faults.set(a, 'EMFILE').set(b, 'EACCES')
    expect(await stamped.look(a)).toBe(known)
    const denied = await stamped.look(b)
    expect(denied).toMatchObject({ code: 'UNREADABLE', reason: 'the system does not permit it' })
    expect(await stamped.look(b)).toBe(denied)
    faults.clear()
    expect(await stamped.look(b)).toEqual({ text: 'b' })
  })

  it('is never more than the head, or than a byte beyond the limit of a file that grows', async () => {
    const root = folder({ 'a.txt': 'abcdef' })
    expect(await reader(nodeFiles, { head: 3 }).look(join(root, 'a.txt'))).toEqual({ text: 'abc…' })
    const limits: number[] = []
    const grown: FileSystem = { ...nodeFiles, read: async (path, limit) => {
      limits.push(limit)
      return { ...await nodeFiles.read(path, limit), bytes: Buffer.alloc(limit) }
    } }
    expect(await reader(grown, { maxSize: 10 }).look(join(root, 'a.txt'))).toMatchObject({ code: 'TOO_LARGE' })
    expect(limits).toEqual([11])
  })
})

it('a read of /proc, which says nothing of its size, is whole', async () => {
  const { bytes } = await nodeFiles.read('/proc/self/status', 100_000)
  expect(`${Buffer.from(bytes)}`).toContain('Pid:')
})
