import { fstatSync, mkdirSync, readFileSync, readSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type FileLayer, nodeFiles } from '@headrace/plugin-store-jsonl'
import { removeFolder } from '@headrace/testing/folder'

/** What a disk holds of a file: the bytes that were synced. */
interface Inode {
  durable: Buffer
}

/**
 * A file layer whose disk forgets, at {@link cut}, what was not synced: bytes of files, and entries of folders. Works on a real folder,
 * which is made to what the disk holds.
 */
export class PowerCutFiles implements FileLayer {
  syncs = 0
  directorySyncs = 0
  private readonly root: string
  private readonly names = new Map<string, Inode | 'folder'>()
  private durableNames = new Map<string, Inode | 'folder'>()
  private readonly open_ = new Map<number, { readonly inode: Inode }>()

  /** @param root a folder that is there, and stays */
  constructor(root: string) {
    this.root = root
  }

  open(path: string, flags: 'r' | 'a' | 'ax'): number {
    const fd = nodeFiles.open(path, flags)
    const known = this.names.get(path)
    const inode = known && known !== 'folder' ? known : { durable: Buffer.alloc(0) }
    this.names.set(path, inode)
    this.open_.set(fd, { inode })
    return fd
  }

  write(fd: number, bytes: Uint8Array): number {
    return nodeFiles.write(fd, bytes)
  }

  truncate(fd: number, length: number): void {
    nodeFiles.truncate(fd, length)
  }

  async sync(fd: number): Promise<void> {
    this.syncs++
    const { inode } = this.open_.get(fd)!
    // What is written while a sync runs may miss it. By the handle: it may have another name by now.
    const bytes = Buffer.alloc(fstatSync(fd).size)
    readSync(fd, bytes, 0, bytes.length, 0)
    await nodeFiles.sync(fd)
    inode.durable = bytes
  }

  async syncDirectory(path: string): Promise<void> {
    this.directorySyncs++
    await nodeFiles.syncDirectory(path)
    for (const name of this.durableNames.keys()) if (dirname(name) === path) this.durableNames.delete(name)
    for (const [name, entry] of this.names) if (dirname(name) === path) this.durableNames.set(name, entry)
  }

  close(fd: number): void {
    this.open_.delete(fd)
    nodeFiles.close(fd)
  }

  rename(from: string, to: string): void {
    nodeFiles.rename(from, to)
    this.names.set(to, this.names.get(from)!)
    this.names.delete(from)
  }

  link(from: string, to: string): void {
    nodeFiles.link(from, to)
    this.names.set(to, this.names.get(from)!)
  }

  remove(path: string): void {
    nodeFiles.remove(path)
    for (const name of this.names.keys()) if (name === path || dirname(name) === path) this.names.delete(name)
  }

  makeDirectory(path: string): string | undefined {
    const top = nodeFiles.makeDirectory(path)
    if (top !== undefined) for (let made = path; made.length >= top.length; made = dirname(made)) this.names.set(made, 'folder')
    return top
  }

  /**
   * The power fails. With `torn`, that many of the bytes that were not synced had reached the disk by chance; with `zeros`, so many of
   * those behind them were lost, but not the file's length: they read as NUL.
   */
  cut(torn = 0, zeros = 0): void {
    const after = new Map([...this.durableNames].map(([name, entry]) => {
      const reached = entry === 'folder' ? Buffer.alloc(0) : this.reached(name, entry, torn, zeros)
      return [name, reached] as const
    }))
    // A card, which is a cache and not of this layer, may be written meanwhile.
    for (const name of readdirSync(this.root)) removeFolder(join(this.root, name))
    for (const [name, entry] of this.durableNames) if (entry === 'folder') mkdirSync(name, { recursive: true })
    this.names.clear()
    for (const [name, entry] of this.durableNames) {
      if (entry !== 'folder') writeFileSync(name, (entry.durable = after.get(name)!))
      this.names.set(name, entry)
    }
    this.durableNames = new Map(this.names)
  }

  private reached(name: string, inode: Inode, torn: number, zeros: number): Buffer {
    if (torn + zeros === 0 || !statSync(name, { throwIfNoEntry: false })) return inode.durable
    const now = readFileSync(name)
    const there = Math.min(now.length, inode.durable.length + torn)
    const length = Math.min(now.length, there + zeros)
    return Buffer.concat([now.subarray(0, there), Buffer.alloc(length - there)])
  }
}

/** A file layer that fails where it is told to. */
export class FailingFiles implements FileLayer {
  /** Bytes that still fit on the disk. */
  space = Infinity
  /** The most that one write takes. */
  largestWrite = Infinity
  failSync = false
  failTruncate = false

  open(path: string, flags: 'r' | 'a' | 'ax'): number {
    return nodeFiles.open(path, flags)
  }

  write(fd: number, bytes: Uint8Array): number {
    if (this.space <= 0) throw errorOf('ENOSPC', 'no space left on device')
    const written = nodeFiles.write(fd, bytes.subarray(0, Math.min(this.space, this.largestWrite)))
    this.space -= written
    return written
  }

  truncate(fd: number, length: number): void {
    if (this.failTruncate) throw errorOf('EIO', 'i/o error')
    nodeFiles.truncate(fd, length)
  }

  async sync(fd: number): Promise<void> {
    if (this.failSync) throw errorOf('EIO', 'i/o error')
    await nodeFiles.sync(fd)
  }

  syncDirectory(path: string): Promise<void> {
    return nodeFiles.syncDirectory(path)
  }

  close(fd: number): void {
    nodeFiles.close(fd)
  }

  rename(from: string, to: string): void {
    nodeFiles.rename(from, to)
  }

  link(from: string, to: string): void {
    nodeFiles.link(from, to)
  }

  remove(path: string): void {
    nodeFiles.remove(path)
  }

  makeDirectory(path: string): string | undefined {
    return nodeFiles.makeDirectory(path)
  }
}

function errorOf(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code })
}
