import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Digest, sha256 } from '@headrace/message'
import { StoreError } from '@headrace/session'
import { type FileLayer, isCode, writeAll } from './files.ts'

/** Writes bytes under their digest, whole and durable, or not at all. A blob that is there and intact is left. */
export async function writeBlob(files: FileLayer, directory: string, bytes: Uint8Array): Promise<Digest> {
  const digest = sha256(bytes)
  const path = join(directory, digest)
  if (files.makeDirectory(directory) !== undefined) await files.syncDirectory(dirname(directory))
  const present = await readOrNothing(path)
  if (!present || sha256(present) !== digest) await writeWhole(files, path, bytes)
  // Also for one that is present: its writer may have died before the sync.
  await files.syncDirectory(directory)
  return digest
}

/** @throws StoreError where the bytes are not those that were written */
export async function readBlob(id: string, directory: string, digest: Digest): Promise<Uint8Array | undefined> {
  if (!/^[0-9a-f]{64}$/.test(digest)) return undefined
  const path = join(directory, digest)
  const bytes = await readOrNothing(path)
  if (bytes && sha256(bytes) !== digest) throw new StoreError(`session ${id}: ${path} is damaged: its bytes have another digest; put the same bytes again, or delete it`, { code: 'BLOB_DAMAGED' })
  return bytes
}

async function writeWhole(files: FileLayer, path: string, bytes: Uint8Array): Promise<void> {
  const draft = `${path}.${randomUUID()}`
  const fd = files.open(draft, 'ax')
  try {
    try {
      writeAll(files, fd, bytes)
      await files.sync(fd)
    } finally {
      files.close(fd)
    }
    files.rename(draft, path)
  } catch (error) {
    files.remove(draft)
    throw error
  }
}

async function readOrNothing(path: string): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await readFile(path))
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}
