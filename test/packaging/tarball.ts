import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Package as Packed, createPackageFromTarballData } from '@arethetypeswrong/core'
import { inject } from 'vitest'
import { type Manifest, published } from '../rules/workspace.ts'

/** Where a package's tarball is. */
export function tarballOf({ name, version }: Manifest): string {
  return join(inject('tarballs'), `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)
}

/** A package as it would be downloaded. */
export interface Tarball {
  readonly manifest: Manifest
  readonly bytes: Buffer
  readonly packed: Packed
  /** Without the leading `package/`. */
  readonly files: readonly string[]
  text(file: string): string
}

export function openTarball(manifest: Manifest): Tarball {
  const bytes = readFileSync(tarballOf(manifest))
  const packed = createPackageFromTarballData(bytes)
  const prefix = `/node_modules/${manifest.name}/`
  return {
    bytes, packed,
    manifest: JSON.parse(packed.readFile(`${prefix}package.json`)) as Manifest,
    files: packed.listFiles().map((file) => file.slice(prefix.length)),
    text: (file) => packed.readFile(prefix + file),
  }
}

/** Every package of ours by its name, as `npm install` takes it. */
export function tarballs(): Record<string, string> {
  return Object.fromEntries(published.map(({ manifest }) => [manifest.name, `file:${tarballOf(manifest)}`]))
}
